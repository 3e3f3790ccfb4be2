-- Moves a lock's fence counter on, under any holder. It is the second half of fence.lua or share.lua, for a node of a cluster that
-- has only one of the two keys while their slot moves. The caller has the lock's key already.
--
-- KEYS[1]  the counter
-- ARGV[1]  what the counter must be at least; 0: nothing is asked
-- ARGV[2]  how long to keep the counter, in milliseconds
-- ARGV[3]  'count' for a writer, 'read' for a reader: see fence_counter.lua
-- Returns  the counter

--@include fence_counter.lua

return move_on(KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3] == 'count') or cannot_go_on()
