-- Tenants, their homes as rows, and who may do what.
--
-- wakebook_app   serves and works. It owns nothing, and sees the rows of one tenant at a time: the
--                one that `wakebook.tenant` names for the transaction. Without one, it is an error.
-- wakebook_admin adds, lists and removes tenants. Its few functions answer what must be known
--                before there is a tenant.

CREATE FUNCTION tenant() RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE given text := current_setting('wakebook.tenant', true);
BEGIN
    IF given IS NULL OR given = '' THEN
        RAISE EXCEPTION 'no tenant is set' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN given::bigint;
END $$;

CREATE TABLE home (
    tenant bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    added_at timestamptz NOT NULL DEFAULT now(),
    version bigint NOT NULL DEFAULT 0,   -- of the memory: a commit checks it
    change bigint NOT NULL DEFAULT 0,    -- of any file: a working copy catches up by it
    refs jsonb NOT NULL DEFAULT '{}',    -- of git
    holder text NOT NULL DEFAULT '',     -- of the lease
    held_until timestamptz NOT NULL DEFAULT '-infinity',
    due_at timestamptz NOT NULL DEFAULT '-infinity',  -- the next time that its jobs run
    erased_at timestamptz NOT NULL DEFAULT '-infinity',  -- older working copies are thrown away
    bytes bigint NOT NULL DEFAULT 0,
    entries bigint NOT NULL DEFAULT 0,
    dollars double precision NOT NULL DEFAULT 0,  -- of this month
    month text NOT NULL DEFAULT '',
    most_bytes bigint,                   -- NULL: no limit
    most_entries bigint,
    most_dollars double precision
);

CREATE TABLE file (  -- a file is its segments of this epoch, one after another
    tenant bigint NOT NULL,
    path text NOT NULL,
    epoch int NOT NULL DEFAULT 0,        -- grows when a file is written anew
    size bigint NOT NULL,
    digest bytea NOT NULL,
    mode int NOT NULL,
    segments int NOT NULL,
    change bigint NOT NULL,
    gone boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, path)
) PARTITION BY HASH (tenant);

CREATE TABLE segment (
    tenant bigint NOT NULL,
    path text NOT NULL,
    epoch int NOT NULL,
    place bigint NOT NULL,               -- the byte that it begins with
    data bytea NOT NULL,
    PRIMARY KEY (tenant, path, epoch, place)
) PARTITION BY HASH (tenant);

CREATE TABLE bundle (  -- git's history, each with what the ones before it lack
    tenant bigint NOT NULL,
    number int NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, number)
) PARTITION BY HASH (tenant);

CREATE TABLE done (  -- work that is committed, so that it is never done twice
    tenant bigint NOT NULL,
    work text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    result bytea NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, work)
) PARTITION BY HASH (tenant);

CREATE TABLE aside (  -- jobs that fail again and again
    tenant bigint NOT NULL,
    job bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    task text NOT NULL,
    arguments jsonb NOT NULL,
    attempts int NOT NULL,
    error text NOT NULL,
    PRIMARY KEY (tenant, job)
);

CREATE TABLE token (
    digest bytea PRIMARY KEY,            -- sha256; the token itself is kept nowhere
    id text NOT NULL UNIQUE,             -- what it is called, and revoked by
    tenant bigint NOT NULL REFERENCES home ON DELETE CASCADE,
    agent text NOT NULL DEFAULT '',
    scopes text[] NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX ON token (tenant);

CREATE TABLE shared (  -- a team memory: a tenant that others may read
    owner bigint NOT NULL REFERENCES home ON DELETE CASCADE,
    reader bigint NOT NULL REFERENCES home ON DELETE CASCADE,
    PRIMARY KEY (reader, owner)
);

DO $$
DECLARE one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['file', 'segment', 'bundle', 'done'] LOOP
        FOR part IN 0..15 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                           one || '_' || part, one, part);
        END LOOP;
    END LOOP;
    FOREACH one IN ARRAY ARRAY['file', 'segment', 'bundle', 'done', 'aside'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO wakebook_app', one);
    END LOOP;
    FOREACH one IN ARRAY ARRAY['home', 'file', 'segment', 'bundle', 'done', 'aside'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY own ON %I TO wakebook_app USING (tenant = (SELECT tenant()))', one);
        EXECUTE format('CREATE POLICY every ON %I TO wakebook_admin USING (true)', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO wakebook_admin', one);
    END LOOP;
END $$;
ALTER TABLE token ENABLE ROW LEVEL SECURITY;
ALTER TABLE token FORCE ROW LEVEL SECURITY;
CREATE POLICY every ON token TO wakebook_admin USING (true);
ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
ALTER TABLE shared FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON shared FOR SELECT TO wakebook_app USING (reader = (SELECT tenant()));
CREATE POLICY every ON shared TO wakebook_admin USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON token, shared TO wakebook_admin;
GRANT SELECT ON shared TO wakebook_app;
GRANT SELECT ON home TO wakebook_app;
GRANT UPDATE (version, change, refs, holder, held_until, due_at, erased_at, bytes, entries, dollars,
              month) ON home TO wakebook_app;

-- Whose token it is: asked before there is a tenant, by the database's clock.
CREATE FUNCTION token_of(given bytea)
RETURNS TABLE (tenant bigint, name text, agent text, scopes text[], expired boolean, revoked boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wakebook, pg_temp AS $$
    SELECT home.tenant, home.name, token.agent, token.scopes, token.expires_at <= now(),
           token.revoked_at IS NOT NULL
    FROM token JOIN home USING (tenant) WHERE digest = given
$$;

-- The tenants that this one may read beside its own.
CREATE FUNCTION readable() RETURNS TABLE (tenant bigint, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wakebook, pg_temp AS $$
    SELECT home.tenant, home.name FROM shared JOIN home ON home.tenant = owner
    WHERE reader = wakebook.tenant() ORDER BY home.name
$$;

-- The tenants whose jobs are due, a few at a time; nobody else is given them for a while.
CREATE FUNCTION take_due(most int, pause interval) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = wakebook, pg_temp AS $$
    UPDATE home SET due_at = now() + pause WHERE tenant IN (
        SELECT tenant FROM home WHERE due_at <= now() ORDER BY due_at LIMIT most
        FOR UPDATE SKIP LOCKED
    ) RETURNING tenant
$$;
CREATE INDEX ON home (due_at);

-- How far some tenants are, for whoever keeps working copies of them. Those that are gone, are gone.
CREATE FUNCTION standing(tenants bigint[])
RETURNS TABLE (tenant bigint, change bigint, erased_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wakebook, pg_temp AS $$
    SELECT tenant, change, erased_at FROM home WHERE tenant = ANY (tenants)
$$;

ALTER FUNCTION token_of OWNER TO wakebook_admin;
ALTER FUNCTION readable OWNER TO wakebook_admin;
ALTER FUNCTION take_due OWNER TO wakebook_admin;
ALTER FUNCTION standing OWNER TO wakebook_admin;
