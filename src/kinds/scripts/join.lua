-- Joins the remote queue of a lock, or keeps the ticket in it alive. Touches nothing if one of the keys is not ours.
--
-- KEYS[1]  the queue: a list of `ticket:<number>`, the longest waiting first
-- KEYS[2]  our ticket: an empty string that lives as long as we wait, and live
-- ARGV[1]  our number
-- ARGV[2]  for how many milliseconds to keep the ticket, and the queue
-- ARGV[3]  what the name of a ticket begins with; its number follows. (The tickets of others cannot be among
--          the keys: only the queue knows their numbers. They are in the slot of the queue.)
-- Returns  the number of the waiter before us; 0 there is none

local function number_in(entry)
    return string.match(entry, '^ticket:(%d+)$')
end

local function foreign(name)
    return redis.error_reply('QUEUE the key ' .. name .. ' was not written by colock')
end

local ticket = redis.pcall('get', KEYS[2])
if type(ticket) == 'table' then
    return ticket  -- an error: a key of another type
end
if ticket and ticket ~= '' then
    return foreign(KEYS[2])
end
for _, place in ipairs({0, -1}) do
    local entry = redis.pcall('lindex', KEYS[1], place)
    if type(entry) == 'table' then
        return entry
    end
    if entry and not number_in(entry) then
        return foreign(KEYS[1])
    end
end

-- Written only now and then: to write it tells the waiter behind us that it has changed.
if redis.call('pttl', KEYS[2]) < ARGV[2] / 2 then
    redis.call('set', KEYS[2], '', 'px', ARGV[2])
end

local own = 'ticket:' .. ARGV[1]
local at = redis.call('lpos', KEYS[1], own)
if not at then
    at = redis.call('rpush', KEYS[1], own) - 1
end
redis.call('pexpire', KEYS[1], ARGV[2])

while at > 0 do
    at = at - 1
    local before = redis.call('lindex', KEYS[1], at)
    local number = number_in(before)
    if number then
        if redis.call('exists', ARGV[3] .. number) == 1 then
            return tonumber(number)
        end
        redis.call('lrem', KEYS[1], 1, before)  -- it has died
    end
end
return 0
