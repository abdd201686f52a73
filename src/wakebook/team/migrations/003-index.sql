-- The index of every tenant: the tables of store/schema.sql, with the tenant in every key. The same
-- statements run on both, so the tenant stands last and fills in itself, and texts are compared
-- byte by byte. Words and vectors have tables of their own kind, which are read in one go.

CREATE SCHEMA wakebook_index;
GRANT USAGE ON SCHEMA wakebook_index TO wakebook_app, wakebook_admin;
SET LOCAL search_path = wakebook_index;

CREATE TABLE meta (key text COLLATE "C", value text NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, key));
CREATE TABLE file (id bigint, path text COLLATE "C" NOT NULL, modified bigint NOT NULL,
  size bigint NOT NULL, digest bytea NOT NULL, problem text NOT NULL DEFAULT '', tenant bigint,
  PRIMARY KEY (tenant, id), UNIQUE (tenant, path)) PARTITION BY HASH (tenant);
CREATE TABLE session (id bigint, name text COLLATE "C" NOT NULL, host text COLLATE "C" NOT NULL,
  tenant bigint, PRIMARY KEY (tenant, id), UNIQUE (tenant, name, host)) PARTITION BY HASH (tenant);
CREATE TABLE chunk (id bigint, name text COLLATE "C" NOT NULL, file bigint NOT NULL,
  place bigint NOT NULL, line bigint NOT NULL, last_line bigint NOT NULL, at bigint NOT NULL,
  session bigint NOT NULL, category text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL, speaker text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL, own boolean NOT NULL, pinned boolean NOT NULL,
  archived boolean NOT NULL, asks boolean NOT NULL, turn boolean NOT NULL, dated boolean NOT NULL,
  replaced_by text COLLATE "C" NOT NULL DEFAULT '', digest bytea NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, id)) PARTITION BY HASH (tenant);
CREATE INDEX ON chunk (tenant, name);
CREATE INDEX ON chunk (tenant, file, place);
CREATE INDEX ON chunk (tenant, at);
CREATE TABLE body (id bigint, title text NOT NULL, text text NOT NULL, detail text NOT NULL,
  language text NOT NULL, tenant bigint, PRIMARY KEY (tenant, id)) PARTITION BY HASH (tenant);
CREATE TABLE replaces (old text COLLATE "C", new text COLLATE "C", tenant bigint,
  PRIMARY KEY (tenant, old, new));
CREATE INDEX ON replaces (tenant, new);
CREATE TABLE said (file text COLLATE "C", place bigint, entry text COLLATE "C", tenant bigint,
  PRIMARY KEY (tenant, file, place, entry)) PARTITION BY HASH (tenant);
CREATE INDEX ON said (tenant, entry);
CREATE TABLE entry (seq bigint, id text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL,
  at double precision NOT NULL, type text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL, pinned boolean NOT NULL, depth bigint NOT NULL DEFAULT 0,
  replaced_by text COLLATE "C" NOT NULL DEFAULT '', line bytea NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, seq), UNIQUE (tenant, id)) PARTITION BY HASH (tenant);
CREATE INDEX ON entry (tenant, subject, at);
CREATE INDEX ON entry (tenant, at);
CREATE TABLE dirty (seq bigint, tenant bigint, PRIMARY KEY (tenant, seq));
CREATE TABLE waiting (name text COLLATE "C", seq bigint NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, name));
CREATE TABLE written (path text COLLATE "C", digest bytea NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, path));
CREATE TABLE block (key text COLLATE "C", lines text NOT NULL, tenant bigint,
  PRIMARY KEY (tenant, key));
CREATE TABLE pending (id bigint, tenant bigint, PRIMARY KEY (tenant, id));
CREATE TABLE posting (word text COLLATE "C", block bigint, ids bytea NOT NULL, uses bytea NOT NULL,
  tenant bigint, PRIMARY KEY (tenant, word, block)) PARTITION BY HASH (tenant);
CREATE TABLE vectors (id bigint, version bigint NOT NULL, scale real NOT NULL, signs bytea NOT NULL,
  numbers bytea NOT NULL, tenant bigint, PRIMARY KEY (tenant, id)) PARTITION BY HASH (tenant);
CREATE INDEX ON vectors (tenant, version);

DO $$
DECLARE
    one text;
    own text := 'current_setting(''wakebook.tenant'')::bigint';  -- an error, if it is not set
BEGIN
    FOR one IN SELECT relname FROM pg_class
               WHERE relnamespace = 'wakebook_index'::regnamespace AND relkind = 'p' LOOP
        FOR part IN 0..15 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                           one || '_' || part, one, part);
        END LOOP;
    END LOOP;
    FOR one IN SELECT relname FROM pg_class
               WHERE relnamespace = 'wakebook_index'::regnamespace AND relkind IN ('p', 'r') LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        CONTINUE WHEN one ~ '_[0-9]+$';  -- a part has no policy and no grant: nobody reads it alone
        EXECUTE format('ALTER TABLE %I ALTER tenant SET DEFAULT %s', one, own);
        EXECUTE format('CREATE POLICY own ON %I TO wakebook_app USING (tenant = %s)', one, own);
        EXECUTE format('CREATE POLICY every ON %I TO wakebook_admin USING (true)', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO wakebook_app, wakebook_admin', one);
    END LOOP;
END $$;

SET LOCAL search_path = wakebook, public;
