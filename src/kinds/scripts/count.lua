-- Moves a lock's fence counter on, whoever has the lock: the second half of fence.lua, for a node of a cluster that has
-- only one of the two keys while their slot moves. The caller has the lock's key already.
--
-- KEYS[1]  the counter
-- ARGV[1]  what the counter is to be at least; or 0: more than it was
-- ARGV[2]  for how many milliseconds to keep the counter
-- Returns  the counter

--@include parts/fence_counter.lua

return move_on(KEYS[1], tonumber(ARGV[1]), ARGV[2], redis.call('time'), true) or cannot_go_on()
