-- Takes a reader's share of a lock's key. The first reader holds it as a string, as its SET with NX has written it. With the
-- second reader the key becomes a sorted set: see lock_key.lua.
--
-- KEYS[1]  the key
-- KEYS[2]  if it is fenced: the counter
-- ARGV[1]  the token: 'reader:', 40 hexadecimal digits, and perhaps '@' and a label
-- ARGV[2]  the ttl in milliseconds
-- ARGV[3]  a name in the key's slot, where a set is made before it takes the place of the key
-- ARGV[4]  if it is fenced: what the counter must be at least
-- ARGV[5]  if it is fenced: how long to keep the counter, in milliseconds
-- Returns  OK, or if it is fenced the counter; -1 another token holds it; '@<label>' likewise, if that token has a label;
--          -2 a writer waits; 'holds <type>' no lock wrote it

--@include ../look.lua
--@include ../lock_key.lua
--@include ../fenced/fence_counter.lua

local key, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- The key must be free, or have readers and no waiting writer.
local value = look('get', key)
local left = redis.call('pttl', key)
local set
if type(value) == 'table' then  -- an error: a key of another type
    set = read_set(key)
    if not set then
        return held_by_another(key, value)
    end
    if is_marked(set) then
        return -2
    end
elseif value and value ~= token and (not is_reader(value) or left < 0) then
    return held_by(value)
end
local is_first = value == false or set and set.readers <= set.now

-- All that can be refused comes before the first write that stays.
local counter, is_counted
if KEYS[2] then
    counter, is_counted = next_count(KEYS[2], tonumber(ARGV[4]), false)
    if counter == nil then
        return cannot_go_on()
    end
    try_count(KEYS[2], is_counted)
end
local joins = not is_first and value ~= token
local ends
if joins and set then
    ends = math.max(set.now + ttl, share_of(key, token, set) or 0)  -- a share that is taken again is not shortened
    prepare(key, set, token, ends)
elseif joins then
    local failed = make_set(key, ARGV[3], value, left, token, ttl, 1)
    if failed then
        return failed
    end
elseif not is_first then
    redis.call('pexpire', key, math.max(ttl, left))
end

if counter then
    keep_count(KEYS[2], counter, ARGV[5])
end
if is_first then
    redis.call('set', key, token, 'px', ttl)
elseif joins and set then
    put(key, set, token, ends)
elseif joins then
    redis.call('rename', ARGV[3], key)
end
return counter or redis.status_reply('OK')
