-- The record of a name that has been run: 'done:', the length of the fingerprint, ':', the fingerprint, and
-- the result. If the result was too long, the record has 'done:-', and the result's number of bytes in its
-- place. No token begins with 'done:'.

-- The longest record: 'done:', three digits, ':', a fingerprint of 256 bytes and a result of 64 KiB.
local longest_record = 65801

local function is_record(value)
    return type(value) == 'string' and string.sub(value, 1, 5) == 'done:'
end

-- Returns the reply about a record: its remaining time, and the record. A longer value is no record.
local function state_of(key, record)
    if #record > longest_record then
        return redis.status_reply('of damaged_result_of_once')
    end
    return string.format('%.0f ', redis.call('pttl', key)) .. record
end
