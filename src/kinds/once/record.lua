-- The record of a name that has been run once: 'done:', the length of the fingerprint, ':', the fingerprint, and the result. No token
-- begins so.

local function is_record(value)
    return type(value) == 'string' and string.sub(value, 1, 5) == 'done:'
end

-- What a client is told of a record: how long it will live, and what it is.
local function state_of(key, record)
    return redis.call('pttl', key) .. ' ' .. record
end
