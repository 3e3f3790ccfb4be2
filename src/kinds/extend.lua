-- Compare-and-extend: makes a token hold a lock's key for at least the ttl, if it still does. It
-- never shortens the remaining time. A command that was sent first, on a connection that broke, may
-- be executed last.
--
-- It needs no memory. The server never refuses PEXPIRE and ZREM for lack of memory, nor the later
-- writes of a script.
--
-- KEYS[1]  The key. It is a string, the token that holds it, or a sorted set of readers' tokens.
-- ARGV[1]  The token.
-- ARGV[2]  The ttl in milliseconds. 0 only checks that the token holds the key.
-- Returns  One of these replies:
-- * 1: extended.
-- * 2: extended, and a writer waits.
-- * 0: the token holds nothing there.
-- * -1: another token holds the key.
-- * '@<label>': another token holds the key, and has this label.
-- * 'of <lock>': a lock of another kind has the key.
-- * 'holds <type>': no lock wrote the key.

local key, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- mutant: extend_recreates
local value = redis.pcall('get', key)
-- mutant: extend_without_token_check
if value == token then
    -- mutant: extend_shortens, renewal_needs_memory
    if redis.call('pttl', key) < ttl and ttl > 0 then
        redis.call('pexpire', key, ttl)
    end
    return 1
end

--@include look.lua
--@include lock_key.lua

value = type(value) == 'table' and look('get', key) or value  -- Raises the error unless it is WRONGTYPE.

-- mutant: downgrade_is_an_extend
if is_former(value, token) then  -- The lease was a writer's and is now a reader's.
    if ttl == 0 then
        return 1
    end
    local life = math.max(ttl, redis.call('pttl', key))
    local tried = redis.pcall('set', key, '', 'nx', 'px', 1)  -- The key exists, so this changes nothing.
    if type(tried) == 'table' and tried.err and not string.find(tried.err, 'OOM', 1, true) then
        return tried
    end
    redis.call('pexpire', key, life)
    redis.call('set', key, token, 'px', life)
    return 1
end
local set, without = find_set(key, token, value)
if not set then
    return without
end
local held = share_of(key, token, set)
if not held then
    return 0
end
local ends = set.now + ttl
-- mutant: late_extend_shortens_a_share
if ends > held then
    redis.call('zrem', key, '')
    redis.call('zadd', key, 'xx', 0, '')
    end_at(key, set, math.max(ends, set.ends))
    -- mutant: renewal_for_all_readers, renewal_of_the_key_alone
    redis.call('zadd', key, ends, token)
end
return is_marked(set) and 2 or 1
