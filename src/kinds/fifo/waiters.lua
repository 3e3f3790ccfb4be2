-- The waiters of a lock whose order is binding. A sorted set has a member for each waiter, and the longest
-- waiting one comes first. A member is the number of the client, a dot, and the number of the waiter in its
-- client. Each client has a ticket: an empty string that exists while the client runs and waits. The waiters
-- of a client without a ticket are dead, and are skipped. `core::queue_place` has a table of all times.

local minute = 60000
local most_dead = 256  -- A command looks at no more, so that it does not block the server.
local dead = {}        -- The dead waiters that the command has found. `keep` removes them.

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

-- Sets `is_settling` if nobody counts as dead, since tickets may have ended while the server stood still. Sets
-- `kept` to the time for which the queue must be kept. Neither needs memory.
--
-- The queue is kept for a minute, so its remaining time shows the silence since the last command. After a long
-- silence nobody is dead for one ticket, in eight parts. Each part that is left adds a minute to the remaining
-- time. If all waiters are dead, rare attempts look the same. Therefore only three silences in a row count.
local is_settling, kept = false, minute
local function notice(queue, life)
    local left = redis.call('pttl', queue)
    if left == -2 then
        return
    end
    local part = life / 8
    local parts = math.max(math.ceil(left / minute) - 1, 0)
    local silence = (parts + 1) * minute - left
    -- mutant: fifo_standstill_not_noticed
    if silence > 3 * part then
        parts, silence = parts <= 16 and parts + 8 or 0, 0
    end
    parts = math.max(parts - math.floor(silence / part), 0)
    is_settling = parts > 0
    kept = (parts + 1) * minute - math.floor(silence % part)
end

-- Returns the error about one of the two keys that colock did not write. Returns nil if colock wrote both, or
-- if they do not exist. The first and the last member decide about a queue. Then it calls `notice`.
local function check(queue, ticket, life)
    for _, place in ipairs({0, -1}) do
        local members = look('zrange', queue, place, place, 'withscores')
        if members.err or members[1] and not (client_of(members[1]) and math.abs(members[2]) < 2 ^ 53) then
            return foreign(queue)
        end
    end
    local value = look('get', ticket)
    notice(queue, life)
    return value and value ~= '' and foreign(ticket) or nil
end

-- Returns whether a client counts as alive. `ticket` is the name of the ticket of the sender's client, and `own`
-- is that client's number. The tickets of other clients cannot be among the keys, because only the queue has
-- their numbers. They are in the slot of the queue.
local function lives(client, ticket, own)
    local name = string.sub(ticket, 1, -#own - 1) .. client
    local found = is_settling and 1 or redis.pcall('exists', name)
    if type(found) == 'table' then
        if not string.find(found.err, 'non local key') then
            return redis.call('exists', name) == 1
        end
        return true  -- The slot is being moved, and the ticket may be at the other node.
    end
    -- mutant: fifo_dead_client_blocks
    return found == 1
end

-- Returns the first living waiter. `own` is the first waiter of the sender's client. A place of that client with
-- a smaller number was therefore left behind, and is dead. Returns nil if no waiter lives, and '' if too many are
-- dead.
local function first_of(queue, ticket, own)
    for place = 0, most_dead - 1 do
        local member = redis.call('zrange', queue, place, place)[1]
        if not member then
            return nil
        end
        local client = client_of(member)
        if client == client_of(own) then
            -- mutant: fifo_left_place_counts
            if number_of(member) >= number_of(own) then
                return member
            end
            table.insert(dead, member)
        elseif client then
            -- mutant: fifo_second_place_of_the_dead_blocks, fifo_only_one_dead_is_skipped
            if lives(client, ticket, client_of(own)) then
                return member
            end
            table.insert(dead, member)
        end
    end
    return ''
end

-- Returns the client of the last living waiter before a place, except for the client `own`. Returns 0 if there
-- is none, or if too many are dead. The client then attempts, and so skips more of them. Without a ticket, all
-- waiters count as alive.
local function client_before(queue, place, ticket, own)
    for i = place - 1, 0, -1 do
        local member = redis.call('zrange', queue, i, i)[1]
        local client = client_of(member)
        if #dead >= most_dead then
            return 0
        elseif client and client ~= own then
            if not ticket or lives(client, ticket, own) then
                return tonumber(client)
            end
            table.insert(dead, member)
        end
    end
    return 0
end

-- Keeps the queue, and removes the dead. Raises an error if the server refuses this. It needs no memory.
local function keep(queue)
    redis.call('zrem', queue, '')
    -- mutant: fifo_queue_not_kept
    redis.call('pexpire', queue, kept)
    for _, member in ipairs(dead) do
        redis.call('zrem', queue, member)
    end
end

-- Does the same, and raises an error if the server refuses a command of the functions below.
local function try(queue, ticket)
    redis.call('zscore', queue, '')
    redis.call('zadd', queue, 'xx', 0, '')
    redis.call('set', ticket, '', redis.call('exists', ticket) == 1 and 'nx' or 'xx', 'px', 1)
    keep(queue)
end

-- Writes a ticket, which notifies the client behind it. This never shortens the remaining time of the ticket,
-- because another lock object of the client may have a longer `life`. An existing ticket needs no memory.
local function write_ticket(ticket, life)
    if redis.call('pexpire', ticket, math.max(redis.call('pttl', ticket), life)) == 0 then
        redis.call('set', ticket, '', 'px', life)
    end
end

-- Makes a waiter the last one, unless it is already in the queue. Returns the reply of enter.lua.
local function enter(queue, ticket, member, life)
    local is_known = redis.call('zscore', queue, member)
    if is_known then
        redis.call('zrem', queue, '')  -- After this write, the server refuses nothing for lack of memory.
    end
    try(queue, ticket)
    if is_known then
        if dead[1] or redis.call('exists', ticket) == 0 then
            write_ticket(ticket, life)
        end
        return 0
    end
    local last, score = unpack(redis.call('zrange', queue, -1, -1, 'withscores'))
    -- mutant: fifo_enters_at_the_head
    redis.call('zadd', queue, (score or 0) + 1, member)
    if not last then
        redis.call('pexpire', queue, kept)
    end
    write_ticket(ticket, life)
    last = last or member
    -- mutant: fifo_entry_behind_others_counts
    return client_of(last) == client_of(member) and number_of(last) or 0
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
    -- mutant: fifo_leave_ends_the_ticket
    local longest = others and math.max(left, life) or 1
    -- mutant: fifo_leave_without_ticket
    redis.pcall('set', ticket, '', 'px', longest)
end
