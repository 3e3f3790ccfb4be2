-- Advances a lock's fence counter under any holder. It is the second half of fence.lua or share.lua. A
-- cluster node needs it if it has only one of the two keys while their slot moves. The first half has found
-- that the caller has the lock's key.
--
-- KEYS[1]  The counter.
-- ARGV[1]  The smallest value for the counter, or 0 for none.
-- ARGV[2]  How long to keep the counter, in milliseconds.
-- ARGV[3]  'count' for a writer, 'read' for a reader: see fence_counter.lua.
-- Returns  The counter.

--@include fence_counter.lua

return move_on(KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3] == 'count') or cannot_go_on()
