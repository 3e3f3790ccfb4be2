-- Like PCALL, for a key that may have another type. Raises any other error, because a refused command does
-- not mean that a key is missing.
local function look(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true) then
        return redis.call(...)
    end
    return reply
end

-- Returns the number in a text if it is below 2^53 and colock may have written it. Otherwise returns nil.
local function number_in(text)
    local number = text and #text <= 16 and string.find(text, '^%d+$') and tonumber(text)
    return number and number < 2 ^ 53 and number or nil
end
