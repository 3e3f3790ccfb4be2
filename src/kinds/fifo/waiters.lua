-- The waiters of a lock whose order is binding. A sorted set has a member for each waiter, and the longest
-- waiting one comes first. A member is the number of the client, a dot, and the number of the waiter in its
-- client. Each client has a ticket: an empty string that exists while the client runs and waits. The waiters
-- of a client without a ticket are dead, and are skipped. `core::queue_place` has a table of all times.

-- The queue lives for so long after the last command that has seen it, in milliseconds. Its remaining time
-- therefore tells how long the server has executed none.
local queue_life = 60000

-- This is the number of no client. A ticket with this number exists after a standstill of the server. It has
-- the number of standstills in a row, and lives for `queue_life`.
local standstill = '9007199254740992'
local most_in_a_row = 3

-- One command skips at most so many dead waiters. An attempt that would have to skip more is denied.
local most_dead = 256

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

-- Returns the name of a client's ticket. `ticket` is that of the sender's client, and `own` is that client's
-- number. The tickets of other clients cannot be among the keys, because only the queue has their numbers. They
-- are in the slot of the queue.
local function ticket_of(client, ticket, own)
    return string.sub(ticket, 1, -#own - 1) .. client
end

-- Returns whether a client has a ticket.
local function lives(client, ticket, own)
    local name = ticket_of(client, ticket, own)
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

-- Returns whether the last standstill ended less than `life` ago. Then nobody is dead.
local function is_settling(ticket, own, life)
    local left = redis.pcall('pttl', ticket_of(standstill, ticket, own))
    -- An error means that the slot is being moved, as in `lives`.
    return type(left) == 'table' or left >= 0 and left > queue_life - life
end

-- Begins each command that asks who lives. If none has seen the queue for a while, the server may have stood
-- still, and tickets may have ended before their clients could speak. The same silence follows if all waiters
-- die, and attempts are rare. It therefore counts as a standstill only a few times in a row.
local function notice(queue, ticket, own, life)
    local left = redis.call('pttl', queue)
    local silence = queue_life - left
    if left == -2 or silence >= 0 and silence < life / 8 then
        return
    end
    redis.call('zrem', queue, '')  -- After this write, the server refuses no command for lack of memory.
    local name, is_noted = ticket_of(standstill, ticket, own), true
    -- mutant: fifo_standstill_not_noticed
    if silence > life * 3 / 8 then
        local count = redis.pcall('get', name)
        is_noted = type(count) ~= 'table'  -- An error means that the slot is being moved.
        count = is_noted and tonumber(count) or 0
        if is_noted and count < most_in_a_row then
            is_noted = redis.pcall('set', name, count + 1, 'px', queue_life).ok
        end
    elseif not is_settling(ticket, own, life) then
        redis.call('del', name)
    end
    -- mutant: fifo_queue_not_kept
    if is_noted then
        redis.call('pexpire', queue, queue_life)
    end
end

-- Returns the first living waiter, and the dead ones before it. `own` is the first waiter of the sender's
-- client. A place of that client with a smaller number was therefore left behind, and is dead. Returns nil if
-- no waiter lives. After a standstill, the first waiter without a ticket counts as alive. So does the one
-- behind `most_dead` others.
local function first_of(queue, ticket, own, life)
    local dead = {}
    for place = 0, math.huge do
        local member = redis.call('zrange', queue, place, place)[1]
        if not member then
            return nil, dead
        end
        if #dead == most_dead then
            return standstill .. '.0', dead
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
            if is_settling(ticket, client_of(own), life) then
                return standstill .. '.0', dead
            end
            table.insert(dead, member)
        end
    end
end

-- Returns the client of the last living waiter before a place, except for the client `own`. Returns
-- 0 if there is none. The second result has the dead waiters behind it. Without a ticket, all
-- waiters count as alive. After a standstill, this is `standstill` in place of a client without a ticket.
local function client_before(queue, place, ticket, own, life)
    local dead = {}
    for i = place - 1, 0, -1 do
        local member = redis.call('zrange', queue, i, i)[1]
        local client = client_of(member)
        if client and client ~= own then
            if not ticket or #dead == most_dead or lives(client, ticket, own) then
                return tonumber(client), dead
            end
            if is_settling(ticket, own, life) then
                return tonumber(standstill), dead
            end
            table.insert(dead, member)
        end
    end
    return 0, dead
end

-- Raises an error if the server refuses a command of the functions below.
local function try(queue, ticket)
    redis.call('zscore', queue, '')
    redis.call('zadd', queue, 'xx', 0, '')
    redis.call('zrem', queue, '')
    redis.call('set', ticket, '', redis.call('exists', ticket) == 1 and 'nx' or 'xx', 'px', 1)
    redis.call('pexpire', queue, queue_life)
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
            redis.call('zrem', queue, '')  -- As in `notice`.
            write_ticket(ticket, life)
        end
        return 0
    end
    try(queue, ticket)
    local last, score = unpack(redis.call('zrange', queue, -1, -1, 'withscores'))
    -- mutant: fifo_enters_at_the_head
    redis.call('zadd', queue, (score or 0) + 1, member)
    if not last then
        redis.call('pexpire', queue, queue_life)
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
    -- mutant: fifo_leave_ends_the_ticket
    local longest = others and math.max(left, life) or 1
    -- mutant: fifo_leave_without_ticket
    redis.pcall('set', ticket, '', 'px', longest)
end
