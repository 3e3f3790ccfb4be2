-- A record is a value with a version, which grows with each write. Its key is a hash:
--
-- * v: the version, below 2^53.
-- * d: the value.
-- * e: 1 if the value was erased, otherwise 0.
-- * w: the last writes, the latest last, each as ' <id>:<from>:<to>'. The write expected the version `from`
--   and made the version `to`.
-- * n: the number of these writes.
--
-- A key outlives its value by a week, so that its version does not come back. If the value has an end,
-- the key's ttl is the remaining life of the value plus that week. A ttl moves with its key, so the
-- end of a value depends on no server's clock. The end of a value is a change, which gives the record
-- the next version.

local week = 604800000
local most_writes = 16
local longest_writes = 2048  -- In bytes.

-- Reads everything except the value. If the key is not a record, returns nil and the reply about the key.
local function read_record(key)
    local fields = look('hmget', key, 'v', 'e', 'w', 'n')
    if fields.err then
        return nil, written_by_another(key, look('get', key))
    end
    local left = redis.call('pttl', key)
    if left == -2 then
        return {version = 0, writes = '', count = 0, left = left}
    end
    local text, erased, writes = fields[1], fields[2], fields[3]
    local version, count = number_in(text), number_in(fields[4])
    local is_written = version and count and count > 0 and count <= most_writes
    is_written = is_written and (erased == '0' or erased == '1') and writes and #writes <= longest_writes
    if not is_written or not string.find(writes, '^ %x+:%d+:%d+') then
        return nil, redis.status_reply('holds hash')
    end
    local has_ended = erased == '0' and left >= 0 and left <= week
    return {
        text = text,
        version = math.min(version + (has_ended and 1 or 0), 2 ^ 53 - 1),
        has_value = erased == '0' and not has_ended,
        writes = writes,
        count = count,
        left = left,
    }
end

local function text_of(version)
    return string.format('%.0f', version)
end

-- Returns `in_front`, the version, and if there is a value a space and the value. Returns an error if the
-- client does not accept such a long value. If the value is missing, the key is not a record.
local function state_of(key, record, longest, in_front)
    local value = record.has_value and redis.call('hget', key, 'd')
    if record.has_value and not value then
        return redis.status_reply('holds hash')
    end
    if value and #value > tonumber(longest) then
        return redis.error_reply('RECORD the value has ' .. #value .. ' bytes, which exceeds what this client takes (' .. longest ..
            ' bytes). Raise its max_reply_size')
    end
    return in_front .. text_of(record.version) .. (value and ' ' .. value or '')
end
