-- Joins the remote queue of a lock, or keeps the client's ticket in it alive. Changes nothing if colock did
-- not write one of the keys.
--
-- KEYS[1]  The queue: a list of `ticket:<number>`. The longest waiting client comes first.
-- KEYS[2]  The client's ticket: an empty string that exists while the client runs and waits.
-- ARGV[1]  The client's number.
-- ARGV[2]  How long to keep the ticket, in milliseconds. The queue is kept for at least as long.
-- ARGV[3]  The prefix of a ticket's name. The number of the ticket follows. The tickets of other
--          clients cannot be among the keys, because only the queue has their numbers. They are in the
--          slot of the queue.
-- Returns  The number of the waiter before this client, or 0 if there is none.

local queue, ticket, life = KEYS[1], KEYS[2], tonumber(ARGV[2])
local own = 'ticket:' .. ARGV[1]

--@include ../look.lua

local function ticket_in(entry)
    local digits = string.match(entry, '^ticket:(%d+)$')
    return number_in(digits) and digits
end

local function foreign(name)
    return redis.error_reply('QUEUE the key ' .. name .. ' was not written by colock')
end

-- A list that has the client's number is a queue. Otherwise its first and last entries decide.
local at = redis.pcall('lpos', queue, own)
if type(at) == 'table' then
    return at  -- An error, such as a key of another type.
end
for _, place in ipairs(at and {} or {0, -1}) do
    local entry = redis.call('lindex', queue, place)
    if entry and not ticket_in(entry) then
        return foreign(queue)
    end
end

-- The ticket is written only rarely, because a write notifies the waiter behind.
local is_written = not at or redis.call('pttl', ticket) < life / 2
local value
if is_written then
    value = redis.pcall('get', ticket)
    if type(value) == 'table' then
        return value
    end
    if value and value ~= '' then
        return foreign(ticket)
    end
end
-- The queue lives as long as any of its tickets.
-- mutant: queue_without_ttl
local is_prolonged = is_written and redis.call('pttl', queue) < life

-- The living waiter before this client, and the dead ones between them.
local before = 0
local dead = {}
for place = (at or redis.call('llen', queue)) - 1, 0, -1 do
    local entry = redis.call('lindex', queue, place)
    local number = ticket_in(entry)
    local lives = number and redis.pcall('exists', ARGV[3] .. number)
    if type(lives) == 'table' then
        if not string.find(lives.err, 'non local key') then
            return lives
        end
        lives = 1  -- The slot is being moved, and the ticket may be at the other node.
    end
    -- mutant: queue_keeps_the_dead
    if lives == 1 then
        before = tonumber(number)
        break
    end
    if lives == 0 then
        table.insert(dead, entry)
    end
end

-- Commands that may be refused later are tried first, in a way that changes nothing. After LREM, the server
-- refuses none for lack of memory. A client in the queue therefore keeps its ticket without memory.
if at and (is_written or dead[1]) then
    redis.call('lrem', queue, 1, '')
end
if is_written then
    redis.call('set', ticket, '', value and 'nx' or 'xx', 'px', 1)
end
if not at then
    redis.call('lrem', queue, 1, '')
end

if not at then
    redis.call('rpush', queue, own)
end
if is_prolonged then
    local kept = redis.pcall('pexpire', queue, life)
    if type(kept) == 'table' then
        if not at then
            redis.call('lrem', queue, -1, own)  -- A new queue must not stay without ttl.
        end
        return kept
    end
end
if is_written then
    -- mutant: ticket_without_ttl
    redis.call('set', ticket, '', 'px', life)
end
for _, entry in ipairs(dead) do
    redis.call('lrem', queue, 1, entry)
end
return before
