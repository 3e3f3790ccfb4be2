-- Makes a token hold its permits for at least the ttl, if they are exactly the permits on which a quorum has
-- agreed. It never shortens the remaining time.
--
-- It needs no memory. The server never refuses its first write for lack of memory, nor the later
-- writes of a script.
--
-- KEYS[1]  The key.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds.
-- ARGV[3]  The numbers of the permits, each followed by a space.
-- ARGV[4]  The member for the clock of a set.
-- ARGV[5]  For one permit: the smallest score in its slot.
-- ARGV[6]  For one permit: the largest score in its slot.
-- Returns  One of these replies:
-- * 1: extended.
-- * 0: the token does not have these permits.
-- * -1, 'of <lock>' and 'holds <type>': as in permit.lua.

local key, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- The usual case: the token has this one permit in a set that lives for long enough.
local score = ARGV[5] and redis.pcall('zscore', key, ARGV[4])
if type(score) == 'string' then
    local own = tonumber(redis.call('zscore', key, token) or -1)
    local left = redis.call('pttl', key)
    local now = ARGV[5] - score - left  -- The time as a score of that slot.
    if left >= ttl and now > tonumber(ARGV[5]) and own > now and own <= now + ttl and own <= tonumber(ARGV[6]) then
        redis.call('zrem', key, '')
        redis.call('zadd', key, now + ttl, token)
        return 1
    end
end

--@include ../look.lua
--@include ../other_lock.lua
--@include permits.lua

local limit, count, preferred = parse(token)
local held, answer = read_permits(key, limit)
if not held then
    return answer
end
local own, life = permits_of(token, key, held)
-- mutant: renewal_ignores_the_numbers, renewal_compares_the_first_number
if not own or table.concat(own, ' ') .. ' ' ~= ARGV[3] then
    return 0
end
if life >= ttl then
    return 1
end
if held.sole then
    redis.call('pexpire', key, ttl)
    return 1
end
redis.call('zrem', key, '')
redis.call('zadd', key, 'xx', 0, '')
prolong(key, limit, held, ttl)
local scores = {}
for i = 1, count do
    scores[2 * i - 1] = (preferred + own[i] - 1) % limit * span + held.now + ttl
    scores[2 * i] = member(token, i)
end
redis.call('zadd', key, unpack(scores))
return 1
