-- procrastinate's tables, which hold no memory: a job names a tenant and what is to be done.
-- Its own schema was made before this one runs (see schema.py).

DO $$
DECLARE one text;
BEGIN
    FOR one IN SELECT tablename FROM pg_tables
               WHERE schemaname = 'wakebook' AND tablename LIKE 'procrastinate\_%' LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO wakebook_app, wakebook_admin', one);
    END LOOP;
    FOR one IN SELECT sequencename FROM pg_sequences
               WHERE schemaname = 'wakebook' AND sequencename LIKE 'procrastinate\_%' LOOP
        EXECUTE format('GRANT USAGE ON SEQUENCE %I TO wakebook_app, wakebook_admin', one);
    END LOOP;
END $$;
