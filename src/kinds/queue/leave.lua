-- Leaves the remote queue of a lock. Changes nothing that colock did not write.
--
-- KEYS[1]  The queue: a list of `ticket:<number>`.
-- KEYS[2]  The client's ticket: an empty string.
-- ARGV[1]  The client's number.
-- Returns  The number of clients that are left in the queue.

--@include ../look.lua

local own = 'ticket:' .. ARGV[1]
local is_queue = true
for _, place in ipairs({0, -1}) do
    local entry = look('lindex', KEYS[1], place)
    is_queue = is_queue and type(entry) == 'string' and string.find(entry, '^ticket:%d+$')
end
local value = look('get', KEYS[2])
local at = is_queue and redis.call('lpos', KEYS[1], own)
local left = is_queue and redis.call('llen', KEYS[1]) - (at and 1 or 0) or 0

if at then
    redis.call('lrem', KEYS[1], 1, '')  -- Tried first, with an entry that does not exist.
end
if value == '' then
    redis.call('del', KEYS[2])
end
if at then
    redis.call('lrem', KEYS[1], 1, own)
end
return left
