-- Leaves the line for a lock.
--
-- KEYS[1]  the line
-- KEYS[2]  our ticket
-- ARGV[1]  our number
-- Returns  how many are in the line

redis.call('del', KEYS[2])
redis.call('lrem', KEYS[1], 1, ARGV[1])
return redis.call('llen', KEYS[1])
