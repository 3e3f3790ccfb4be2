-- Writes a record if it has the version that the writer expects. A write that is sent again is carried out once.
--
-- KEYS[1]  the key
-- ARGV[1]  the id of the write, in hexadecimal digits
-- ARGV[2]  the version that it expects; 0: there is no record
-- ARGV[3]  for how long the value lives, in milliseconds; 0: it does not end by itself
-- ARGV[4]  the longest value that the client takes, in bytes
-- ARGV[5]  the value; without it the record is erased
-- Returns  the version that the write has made. 'r <record>' it was not carried out and never will be. 'u <record>' it was not
--          carried out now, and nobody knows of an earlier copy. <record> is as read.lua tells. Otherwise as read.lua

--@include ../look.lua
--@include ../other_lock.lua
--@include record.lua

local key, id, expected, ttl, value = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5]
local most_writes = 16

local record, answer = read_record(key)
if not record then
    return answer
end

-- Writes what is there already. It needs no memory, and the server refuses no later write of the script for memory.
local function touch()
    if record.left >= 0 then
        redis.call('pexpire', key, math.max(record.left, 1))
    else
        redis.call('persist', key)
    end
    redis.call('hset', key, 'v', record.text)
end

if expected ~= record.version then
    -- Versions never recur. So a write that was carried out always finds another version.
    local at = string.find(record.writes, ' ' .. id .. ':', 1, true)
    local made = at and string.match(record.writes, ':%d+:(%d+)', at)
    if made then
        touch()  -- replicas that acknowledge this have the write, too
        return tonumber(made)
    end
    -- All writes since the oldest one that is kept are there. One from a version in between would be, too.
    local oldest = string.match(record.writes, '^ %x+:(%d+)')
    local is_certain = oldest and expected < record.version and expected >= tonumber(oldest)
    return state_of(key, record, ARGV[4], is_certain and 'r ' or 'u ')
end

-- A hybrid clock. A record that was lost, or an older copy of it, goes on behind all that was written before, by any server whose
-- clock is right. The next version of a value that would have ended belongs to its end: a clock that is set back may undo that.
local time = redis.call('time')
local step = record.has_value and record.left >= 0 and 2 or 1
local version = math.max(record.version + step, time[1] * 2 ^ 20 + time[2])
if version >= 2 ^ 53 - 1 then
    return redis.error_reply('RECORD the record has no version below 2^53 to go on with')
end

local text = text_of(version)
local kept, count = record.writes, record.count + 1
if count > most_writes then
    local second = string.find(kept, ' ', 2, true)
    kept, count = string.sub(kept, second), most_writes
end
kept = kept .. ' ' .. id .. ':' .. ARGV[2] .. ':' .. text

-- For how long the key lives with the new record. If it does not end, it may have a ttl to lose.
local life = not value and week or ttl ~= 0 and ttl + week
local may_lose_ttl = record.left >= 0

local function set_life()
    if life then
        redis.call('pexpire', key, life)
    elseif may_lose_ttl then
        redis.call('persist', key)
    end
end

-- If there are several writes, what can be refused comes before the first one that stays. An erase works without memory. Of another
-- write, HSET is tried with what is there already. Where there is no key, SET with XX is refused if there is no memory, and then
-- PEXPIRE is tried.
if record.text and not value then
    touch()
elseif record.text and (life or may_lose_ttl) then
    redis.call('hset', key, 'v', record.text)
elseif life then
    redis.call('set', key, '', 'xx')
end
set_life()
redis.call('hset', key, 'v', text, 'd', value or '', 'e', value and '0' or '1', 'w', kept, 'n', count)
if not record.text then
    set_life()
end
return version
