-- The waiters of a lock whose order is binding. A sorted set has a member for each waiter, and the longest
-- waiting one comes first. A member is the number of the client, a dot, and the number of the waiter in its
-- client. Each client has a ticket: an empty string that exists while the client runs and waits. The waiters
-- of a client without a ticket are dead, and are skipped.

local function client_of(member)
    local client, number = string.match(member, '^(%d+)%.(%d+)$')
    return number_in(client) and number_in(number) and client or nil
end

-- Returns the number of a waiter in its client.
local function number_of(member)
    return tonumber(string.match(member, '%d+$'))
end

local function foreign(name)
    return redis.error_reply('QUEUE the key ' .. name .. ' was not written by colock')
end

-- Returns the error about one of the two keys that colock did not write. Returns nil if colock wrote both, or
-- if they do not exist. The first and the last member decide about a queue.
local function check(queue, ticket)
    for _, place in ipairs({0, -1}) do
        local members = look('zrange', queue, place, place, 'withscores')
        if members.err or members[1] and not (client_of(members[1]) and math.abs(members[2]) < 2 ^ 53) then
            return foreign(queue)
        end
    end
    local value = look('get', ticket)
    return value and value ~= '' and foreign(ticket) or nil
end

-- Returns whether a client has a ticket. `ticket` is the name of the ticket of the sender's client, and `own`
-- is that client's number. The tickets of other clients cannot be among the keys, because only the queue has
-- their numbers. They are in the slot of the queue.
local function lives(client, ticket, own)
    local name = string.sub(ticket, 1, -#own - 1) .. client
    local found = redis.pcall('exists', name)
    if type(found) == 'table' then
        if not string.find(found.err, 'non local key') then
            return redis.call('exists', name) == 1
        end
        return true  -- The slot is being moved, and the ticket may be at the other node.
    end
    -- mutant: fifo_dead_client_blocks
    return found == 1
end

-- Returns the first living waiter, and the dead ones before it. `own` is the first waiter of the sender's
-- client. A place of that client with a smaller number was therefore left behind, and is dead. Returns nil if
-- no waiter lives.
local function first_of(queue, ticket, own)
    local dead = {}
    for place = 0, math.huge do
        local member = redis.call('zrange', queue, place, place)[1]
        if not member then
            return nil, dead
        end
        local client = client_of(member)
        if client == client_of(own) then
            -- mutant: fifo_left_place_counts
            if number_of(member) >= number_of(own) then
                return member, dead
            end
            table.insert(dead, member)
        elseif client then
            -- mutant: fifo_second_place_of_the_dead_blocks, fifo_only_one_dead_is_skipped
            if lives(client, ticket, client_of(own)) then
                return member, dead
            end
            table.insert(dead, member)
        end
    end
end

-- Returns the client of the last living waiter before a place, except for the client `own`. Returns
-- 0 if there is none. The second result has the dead waiters behind it. Without a ticket, all
-- waiters count as alive.
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

-- Raises an error if the server refuses a command of the functions below. The only change is that a queue
-- lives for at least `life` milliseconds.
local function try(queue, ticket, life)
    redis.call('zscore', queue, '')
    redis.call('zadd', queue, 'xx', 0, '')
    redis.call('zrem', queue, '')
    redis.call('set', ticket, '', redis.call('exists', ticket) == 1 and 'nx' or 'xx', 'px', 1)
    -- mutant: fifo_queue_not_kept
    if redis.call('pttl', queue) < life then
        redis.call('pexpire', queue, life)
    end
end

-- Writes a ticket, which notifies the client behind it. This never shortens the remaining time of the ticket,
-- because another lock object of the client may have a longer `life`.
local function write_ticket(ticket, life)
    redis.call('set', ticket, '', 'px', math.max(redis.call('pttl', ticket), life))
end

-- Makes a waiter the last one, unless it is already in the queue. Returns the reply of enter.lua.
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
    -- mutant: fifo_enters_at_the_head
    redis.call('zadd', queue, (score or 0) + 1, member)
    if not last then
        redis.call('pexpire', queue, life)
    end
    write_ticket(ticket, life)
    last = last or member
    -- mutant: fifo_entry_behind_others_counts
    return client_of(last) == client_of(member) and number_of(last) or 0
end

local function remove(queue, members)
    for _, member in ipairs(members) do
        redis.call('zrem', queue, member)
    end
end

-- Removes the place of a waiter that has had its turn or has left. After a lost command, a later waiter of
-- this client may be before it. That waiter keeps its place. An empty queue leaves no ticket. If the server
-- refuses to write the ticket, the client behind looks a little later.
local function leave(queue, ticket, member, life)
    if not redis.call('zscore', queue, member) then
        return
    end
    local others = redis.call('zrange', queue, 0, 1)[2]
    local left = redis.call('pttl', ticket)
    redis.call('zrem', queue, member)
    local longest = 1
    if others then  -- No ticket lives longer than the queue.
        -- mutant: fifo_queue_not_kept_by_a_leave
        local kept = redis.pcall('pexpire', queue, math.max(redis.call('pttl', queue), life))
        longest = math.max(left, kept == 1 and life or 1)
    end
    -- mutant: fifo_leave_without_ticket
    redis.pcall('set', ticket, '', 'px', longest)
end
