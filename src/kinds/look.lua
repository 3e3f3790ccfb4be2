-- As PCALL, for a key that may have another type. Any other error is raised: nothing counts as missing because a command was refused.
local function look(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true) then
        return redis.call(...)
    end
    return reply
end
