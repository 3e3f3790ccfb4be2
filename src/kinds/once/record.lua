-- The record of a name that has been run: 'done:', the length of the fingerprint, ':', the fingerprint, and
-- the result. If the result was too long, the record has 'done:-', and the result's number of bytes in its
-- place. No token begins with 'done:'.

local function is_record(value)
    return type(value) == 'string' and string.sub(value, 1, 5) == 'done:'
end

-- Returns the reply about a record: its remaining time, and the record.
local function state_of(key, record)
    return redis.call('pttl', key) .. ' ' .. record
end
