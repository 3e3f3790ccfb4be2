-- The permits of a semaphore's key. A token is `permit:<limit>*<count>:`, 40 hexadecimal digits, and perhaps '@' and a label. It asks
-- for `count` of `limit` permits. Each permit is a slot. A token prefers one slot, by its first digits. The number of a permit says how
-- many slots it is behind that one, cyclically. The preferred slot has number 1.
--
-- If one token alone has one permit, of number 1, the key is a string: the token. Otherwise it is a sorted set of tokens. The second
-- permit of a token is the member `<token>/2`, and so on. A score is slot * 2^42, plus the time in milliseconds at which the permit
-- ends. No two members have the same slot, unless one of them has ended.
--
-- A set has a clock of its own, since the servers that a key moves between may have different times. The member `semaphore:<limit>`
-- has the negative of the time at which the key expires. So the clock shows that time less the key's PTTL.

local span = 2 ^ 42

local function parse(token)
    local limit, count, digits = string.match(token, '^permit:(%d+)%*(%d+):(%x*)')
    if limit then
        return tonumber(limit), tonumber(count), (tonumber(string.sub(digits, 1, 8), 16) or 0) % limit
    end
end

local function clock_of(limit)
    return 'semaphore:' .. limit
end

-- The member for a token's permits, from 1 on.
local function member(token, index)
    return index == 1 and token or token .. '/' .. index
end

local function members_of(token, count)
    local members = {}
    for i = 1, count do
        members[i] = member(token, i)
    end
    return members
end

-- Reads the key. Returns `{}` if there is none; `{sole = token, left = its PTTL}` for a string; `{ends = ..., now = ...}` for a set.
-- Otherwise returns nil and the answer of written_by_another.
local function read_permits(key, limit)
    local score = look('zscore', key, clock_of(limit))
    if type(score) == 'string' then
        local left = redis.call('pttl', key)
        if left < 0 then  -- somebody removed its ttl
            return nil, redis.status_reply('holds zset')
        end
        return {ends = -score, now = -score - left}
    end
    local value = look('get', key)
    if value == false then
        return {}
    end
    if type(value) == 'string' and parse(value) == limit then
        return {sole = value, left = redis.call('pttl', key)}
    end
    return nil, written_by_another(key, value)
end

-- The numbers of a token's permits, and how long they live yet. Returns nil if it does not have `count`.
local function permits_of(token, key, held)
    local limit, count, preferred = parse(token)
    if held.sole then
        if held.sole == token and count == 1 then
            return {1}, held.left
        end
        return nil
    end
    if not held.ends then
        return nil
    end
    local numbers, life = {}, nil
    for i = 1, count do
        local score = redis.call('zscore', key, member(token, i))
        life = score and score % span - held.now
        if not score or life <= 0 then
            return nil
        end
        numbers[i] = (math.floor(score / span) - preferred) % limit + 1
    end
    return numbers, life
end

-- Has the set live for at least `life` from now on. It lives as long again, so that few renewals have to do this. The key's life comes
-- before the clock, so that the clock never runs fast.
local function prolong(key, limit, held, life)
    if held.now + life > held.ends then
        redis.call('pexpire', key, 2 * life)
        redis.call('zadd', key, -(held.now + 2 * life), clock_of(limit))
    end
end

-- Removes a token's permits from a set, by one command. The key goes with the last member. Returns how many there were.
local function remove(key, token, count)
    local there = {}
    for _, one in ipairs(members_of(token, count)) do
        if redis.call('zscore', key, one) then
            there[#there + 1] = one
        end
    end
    if there[1] and redis.call('zcard', key) == #there + 1 then
        redis.call('del', key)
    elseif there[1] then
        redis.call('zrem', key, unpack(there))
    end
    return #there
end
