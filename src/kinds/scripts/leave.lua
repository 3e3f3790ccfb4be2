-- Leaves the remote queue of a lock. Touches nothing that is not ours.
--
-- KEYS[1]  the queue: a list of `ticket:<number>`
-- KEYS[2]  our ticket: an empty string
-- ARGV[1]  our number
-- Returns  how many clients are in the queue

if redis.pcall('get', KEYS[2]) == '' then
    redis.call('del', KEYS[2])
end
for _, place in ipairs({0, -1}) do
    local entry = redis.pcall('lindex', KEYS[1], place)
    if type(entry) ~= 'string' or not string.find(entry, '^ticket:%d+$') then
        return 0  -- there is no queue, or a key that is not ours
    end
end
redis.call('lrem', KEYS[1], 1, 'ticket:' .. ARGV[1])
return redis.call('llen', KEYS[1])
