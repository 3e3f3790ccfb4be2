-- Reports who holds the key of a lock, and who waits for it. Changes nothing.
--
-- KEYS[1]  The key.
-- KEYS[2]  Its fence counter. A call without this key and the next ones reports about the key only.
-- KEYS[3]  Its remote queue: see join.lua.
-- KEYS[4]  Its waiters, if their order is binding: see waiters.lua.
-- ARGV[1]  The largest number of holders, of waiting writers, and of waiters that are listed.
-- ARGV[2]  The prefix of the tickets in the remote queue. The number of a client follows. The tickets
--          cannot be among the keys, because only the queue has their numbers. They are in its slot.
-- ARGV[3]  The same for the waiters.
-- Returns  The fields of a report, each as its length, ':', and the text. See report.hpp for their order.

--@include ../look.lua
--@include ../lock_key.lua
--@include ../other_lock.lua
--@include ../semaphore/permits.lua
--@include ../versioned/record.lua

local key, most = KEYS[1], tonumber(ARGV[1])

-- The longest string that can be a token. Tokens of other libraries have any form.
local longest_token = 1024
-- The largest number of members of a semaphore that are read. A permit has one, and the limit is below this.
local most_members = 4096

local fields = {}
local function add(value)
    local text = type(value) == 'number' and string.format('%.0f', value) or value
    fields[#fields + 1] = #text .. ':' .. text
end

-- Adds a list whose items have the same number of fields.
local function add_list(items)
    add(#items)
    for _, item in ipairs(items) do
        for _, value in ipairs(item) do
            add(value)
        end
    end
end

-- A report without holders.
local function empty_report(content)
    return {
        content = content,
        size = 0,
        limit = 0,
        in_use = 0,
        version = 0,
        has_value = 0,
        count = 0,
        holders = {},
        writer_count = 0,
        writers = {},
    }
end

-- A report about a single holder.
local function sole_report(content, token, left)
    local report = empty_report(content)
    report.size = content == 'string' and #token or 0
    if #token <= longest_token then
        report.count = 1
        report.holders = {{token, 1, left}}
    end
    return report
end

local function report_string(value, left)
    if string.sub(value, 1, 5) == 'done:' then
        return empty_report('result')
    end
    local limit, count = parse(value)
    if limit and count == 1 and label_at(string.match(value, '^permit:%d+%*%d+:(.*)$'), 1) then
        local report = sole_report('permits', value, left)
        report.limit = limit
        report.in_use = 1
        return report
    end
    return sole_report(is_reader(value) and 'readers' or label_at(value, 1) and 'token' or 'string', value, left)
end

-- Members and scores alternate in `range`. The last item of the range comes first if `is_reversed`.
local function pairs_in(range, is_reversed)
    local result = {}
    for i = 1, #range, 2 do
        table.insert(result, is_reversed and 1 or #result + 1, {range[i], tonumber(range[i + 1])})
    end
    return result
end

-- The reader that stays the longest comes first.
local function report_readers(set)
    local report = empty_report('readers')
    report.count = redis.call('zcount', key, '(' .. set.now, '+inf')
    for _, one in ipairs(pairs_in(redis.call('zrange', key, -most, -1, 'withscores'), true)) do
        if one[2] > set.now and is_reader(one[1]) then
            table.insert(report.holders, {one[1], 1, one[2] - set.now})
        end
    end
    local from, to = -(set.now + longest_mark), '(' .. -set.now
    report.writer_count = redis.call('zcount', key, from, to)
    local marks = redis.call('zrangebyscore', key, from, to, 'withscores', 'limit', 0, most)
    for _, one in ipairs(pairs_in(marks)) do
        if is_mark(one[1]) then
            table.insert(report.writers, {string.match(one[1], '%d+$'), -one[2] - set.now})
        end
    end
    return report
end

-- The permits of a token differ by the end of their members only. The shortest member is the token itself.
local function report_permits(limit, held)
    local report = empty_report('permits')
    report.limit = tonumber(limit)
    local holders, of = {}, {}
    for _, one in ipairs(pairs_in(redis.call('zrange', key, 0, most_members, 'withscores'))) do
        local digits = string.match(one[1], '^permit:%d+%*%d+:%x+')
        if digits and #one[1] <= longest_token then
            local left = one[2] % span - held.now
            local holder = of[digits]
            if not holder then
                holder = {one[1], 0, left}
                of[digits] = holder
                table.insert(holders, holder)
            end
            holder[1] = #one[1] < #holder[1] and one[1] or holder[1]
            holder[2] = holder[2] + 1
            holder[3] = math.min(holder[3], left)
        end
    end
    for _, holder in ipairs(holders) do
        if holder[3] > 0 then
            report.count = report.count + 1
            report.in_use = report.in_use + holder[2]
            if report.count <= most then
                table.insert(report.holders, holder)
            end
        end
    end
    return report
end

local function report_key()
    local value = look('get', key)
    if value == false then
        return empty_report('nothing')
    elseif type(value) == 'string' then
        return report_string(value, redis.call('pttl', key))
    end
    local set = read_set(key)
    if set then
        return report_readers(set)
    end
    local first = look('zrange', key, 0, 0)[1]
    local limit = first and string.match(first, '^semaphore:(%d%d?%d?%d?)$')
    local held = limit and read_permits(key, limit)
    if held and held.ends then
        return report_permits(limit, held)
    end
    local record = not first and read_record(key)
    if record then
        local report = empty_report('record')
        report.version = record.version
        report.has_value = record.has_value and 1 or 0
        return report
    end
    local kind = redis.pcall('type', key)
    return empty_report(kind.ok or 'value')
end

-- Returns whether a client waits. While the slot is being moved, its ticket may be at the other node.
local function lives(ticket)
    return redis.pcall('exists', ticket) ~= 0
end

-- Returns the number of waiters in a queue, and the first of them. Waiters without a ticket are dead and do
-- not count. `size` is an error if the key has another type, or if the user may not read it.
local function waiters_in(size, entry_at, pattern, ticket_prefix)
    local count = type(size) == 'number' and size or 0
    local listed = {}
    for place = 0, math.min(count, most) - 1 do
        local entry = entry_at(place)
        local client, number = string.match(type(entry) == 'string' and entry or '', pattern)
        if number_in(client) and number_in(number or '0') and lives(ticket_prefix .. client) then
            table.insert(listed, {client, number or '0'})
        else
            count = count - 1
        end
    end
    return count, listed
end

local report = report_key()
add(report.content)
add(redis.call('pttl', key))
add(report.size)
add(report.limit)
add(report.in_use)
add(report.version)
add(report.has_value)
add(report.count)
add_list(report.holders)
add(report.writer_count)
add_list(report.writers)

local fence = KEYS[2] and redis.pcall('get', KEYS[2])
add(type(fence) == 'string' and number_in(fence) or 0)

local queued, in_queue = 0, {}
local ordered, in_order = 0, {}
if KEYS[3] then
    queued, in_queue = waiters_in(redis.pcall('llen', KEYS[3]), function(place)
        return redis.pcall('lindex', KEYS[3], place)
    end, '^ticket:(%d+)$', ARGV[2])
    ordered, in_order = waiters_in(redis.pcall('zcard', KEYS[4]), function(place)
        return redis.pcall('zrange', KEYS[4], place, place)[1]
    end, '^(%d+)%.(%d+)$', ARGV[3])
end
for i = 1, math.min(#in_order, most - #in_queue) do
    table.insert(in_queue, in_order[i])
end
add(queued + ordered)
add_list(in_queue)
return table.concat(fields)
