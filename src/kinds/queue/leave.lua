-- Leaves the remote queue of a lock. Touches nothing that is not ours.
--
-- KEYS[1]  the queue: a list of `ticket:<number>`
-- KEYS[2]  our ticket: an empty string
-- ARGV[1]  our number
-- Returns  how many clients are left in the queue

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
    redis.call('lrem', KEYS[1], 1, '')  -- tried first, with no such entry
end
if value == '' then
    redis.call('del', KEYS[2])
end
if at then
    redis.call('lrem', KEYS[1], 1, own)
end
return left
