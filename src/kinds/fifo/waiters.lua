-- The waiters of a lock whose order binds. A sorted set has a member for each of them, the longest waiting first. A member is the number
-- of its client, a dot, and a number among the waiters of that client. Each client has a ticket: an empty string that lives as long as
-- the client waits, and lives. The waiters of a client without a ticket are dead, and are skipped.

local function client_of(member)
    return string.match(member, '^(%d+)%.%d+$')
end

-- The number of a waiter among those of its client.
local function number_of(member)
    return tonumber(string.match(member, '%d+$'))
end

local function foreign(name)
    return redis.error_reply('QUEUE the key ' .. name .. ' was not written by colock')
end

-- The answer about a key of the two that was not written by colock; nil if both were, or are not there. The ends of a queue tell.
local function check(queue, ticket)
    for _, place in ipairs({0, -1}) do
        local members = look('zrange', queue, place, place)
        if members.err or members[1] and not client_of(members[1]) then
            return foreign(queue)
        end
    end
    local value = look('get', ticket)
    return value and value ~= '' and foreign(ticket) or nil
end

-- Whether a client has a ticket, by the name of the ticket of our client `own`. (The tickets of others cannot be among the keys: only
-- the queue has their numbers. They are in the slot of the queue.)
local function lives(client, ticket, own)
    local name = string.sub(ticket, 1, -#own - 1) .. client
    local found = redis.pcall('exists', name)
    if type(found) == 'table' then
        if not string.find(found.err, 'non local key') then
            return redis.call('exists', name) == 1
        end
        return true  -- the slot is being moved, and the ticket may be at the other node
    end
    return found == 1
end

-- The first living waiter, and the dead ones before it. Our client's waiter `own` is the first of those that our client has. So a place
-- of our client with a smaller number is one that was left behind, and dead. Returns nil if no waiter lives.
local function first_of(queue, ticket, own)
    local dead = {}
    for place = 0, math.huge do
        local member = redis.call('zrange', queue, place, place)[1]
        if not member then
            return nil, dead
        end
        local client = client_of(member)
        if client == client_of(own) then
            if number_of(member) >= number_of(own) then
                return member, dead
            end
            table.insert(dead, member)
        elseif client then
            if lives(client, ticket, client_of(own)) then
                return member, dead
            end
            table.insert(dead, member)
        end
    end
end

-- The client of the last living waiter before that place, but our own, and the dead waiters behind it. 0: there is none. Without a
-- ticket, all live.
local function client_before(queue, place, ticket, own)
    local dead = {}
    for i = place - 1, 0, -1 do
        local member = redis.call('zrange', queue, i, i)[1]
        local client = client_of(member)
        if client and client ~= own then
            if not ticket or lives(client, ticket, own) then
                return tonumber(client), dead
            end
            table.insert(dead, member)
        end
    end
    return 0, dead
end

-- Raises an error if the server refuses what the functions below do. Changes nothing, but that a queue lives for `life` milliseconds
-- at least.
local function try(queue, ticket, life)
    redis.call('zscore', queue, '')
    redis.call('zadd', queue, 'xx', 0, '')
    redis.call('zrem', queue, '')
    redis.call('set', ticket, '', redis.call('exists', ticket) == 1 and 'nx' or 'xx', 'px', 1)
    if redis.call('pttl', queue) < life then
        redis.call('pexpire', queue, life)
    end
end

-- To write a ticket tells the client behind it to look where it is. It never ends earlier by that: another lock object of the client may
-- have a longer `life`.
local function write_ticket(ticket, life)
    redis.call('set', ticket, '', 'px', math.max(redis.call('pttl', ticket), life))
end

-- A waiter is one of the queue. If it was not, it becomes the last. Returns what enter.lua returns.
local function enter(queue, ticket, member, life)
    if redis.call('zscore', queue, member) then
        if redis.call('exists', ticket) == 0 then
            try(queue, ticket, life)
            write_ticket(ticket, life)
        end
        return 0
    end
    try(queue, ticket, life)
    local last, score = unpack(redis.call('zrange', queue, -1, -1, 'withscores'))
    redis.call('zadd', queue, (score or 0) + 1, member)
    if not last then
        redis.call('pexpire', queue, life)
    end
    write_ticket(ticket, life)
    last = last or member
    return client_of(last) == client_of(member) and number_of(last) or 0
end

local function remove(queue, members)
    for _, member in ipairs(members) do
        redis.call('zrem', queue, member)
    end
end

-- A waiter of our client has had its turn, or has left. Its place is gone, if it had one. After a lost command a later waiter of our
-- client may be before it, and keeps its place. An empty queue leaves no ticket. If the server refuses to
-- write the ticket, the client behind it looks a little later.
local function leave(queue, ticket, member, life)
    if not redis.call('zscore', queue, member) then
        return
    end
    local others = redis.call('zrange', queue, 0, 1)[2]
    local left = redis.call('pttl', ticket)
    redis.call('zrem', queue, member)
    local longest = 1
    if others then  -- no ticket lives longer than the queue
        local kept = redis.pcall('pexpire', queue, math.max(redis.call('pttl', queue), life))
        longest = math.max(left, kept == 1 and life or 1)
    end
    redis.pcall('set', ticket, '', 'px', longest)
end
