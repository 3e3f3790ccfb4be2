-- Like PCALL, for a key that may have another type. Raises any other error, because a refused command does
-- not mean that a key is missing.
local function look(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true) then
        return redis.call(...)
    end
    return reply
end
