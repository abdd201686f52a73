-- When a file was last written: the same in every working copy, because notes are dated by it, and
-- because a file that has not changed since is not read again for the index.

ALTER TABLE file ADD COLUMN modified bigint;  -- nanoseconds; NULL: written by an older Wakebook
