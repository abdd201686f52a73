-- What a server needs to answer quickly.
--
-- When a file was last written: the same in every working copy, because notes are dated by it, and
-- because a file that has not changed since is not read again for the index.

ALTER TABLE file ADD COLUMN modified bigint;  -- nanoseconds; NULL: written by an older Wakebook

-- Whether anything has changed, in one short question: a server that has answered for a tenant before
-- asks this first, and if nothing has, it knows the answer.
CREATE FUNCTION look(given bigint)
RETURNS TABLE (change bigint, most double precision, shares boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = wakebook, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT home.change, home.most_dollars,
        EXISTS (SELECT FROM shared WHERE shared.reader = given)
    FROM home WHERE home.tenant = given;
END $$;
ALTER FUNCTION look OWNER TO wakebook_admin;
