-- Writes a record if it has the version that the writer expects. A write that is sent again is carried out once.
--
-- KEYS[1]  the key
-- ARGV[1]  the id of the write, in hexadecimal digits
-- ARGV[2]  the version that it expects; 0: there is no record
-- ARGV[3]  for how long the value lives, in milliseconds; 0: it does not end by itself
-- ARGV[4]  the value; without it the record is erased
-- Returns  the version that the write has made. 'r <record>' it was not carried out and never will be. 'u <record>' it was not
--          carried out now, and nobody knows of an earlier copy. <record> is as read.lua tells. Otherwise as read.lua

--@include ../look.lua
--@include ../other_lock.lua
--@include record.lua

local key, id, expected, ttl, value = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local most_writes = 16

local record, answer = read_record(key)
if not record then
    return answer
end

local made = string.match(record.writes, ' ' .. id .. ':%d+:(%d+)')
if made then
    -- It changes nothing, but replicas that acknowledge this have the write, too.
    redis.call('hset', key, 'v', record.text)
    return tonumber(made)
end

if expected ~= record.version then
    -- All writes since the oldest one that is kept are there. One from a version in between would be, too.
    local oldest = string.match(record.writes, ':(%d+):%d+$')
    local is_certain = oldest and expected < record.version and expected >= tonumber(oldest)
    return (is_certain and 'r ' or 'u ') .. state_of(key, record)
end

-- A hybrid clock. A record that was lost, or an older copy of it, goes on behind all that was written before, by any server whose
-- clock is right. The next version of a value that would have ended belongs to its end: a clock that is set back may undo that.
local time = redis.call('time')
local step = record.has_value and record.left >= 0 and 2 or 1
local version = math.max(record.version + step, time[1] * 2 ^ 20 + time[2])
if version >= 2 ^ 53 - 1 then
    return redis.error_reply('RECORD the record has no version below 2^53 to go on with')
end

local kept, count = ' ' .. id .. ':' .. text_of(expected) .. ':' .. text_of(version), 1
for entry in string.gmatch(record.writes, ' [^ ]+') do
    if count < most_writes then
        kept, count = kept .. entry, count + 1
    end
end

-- Has the key live for as long as the new record needs.
local function set_life()
    local life = not value and week or ttl ~= 0 and ttl + week
    if life then
        redis.call('pexpire', key, life)
    elseif record.left >= 0 then
        redis.call('persist', key)
    end
end

-- What can be refused comes before the first write that stays: HSET with what is there already, and PEXPIRE where there is no key.
if record.text then
    redis.call('hset', key, 'v', record.text)
end
set_life()
redis.call('hset', key, 'v', text_of(version), 'd', value or '', 'e', value and '0' or '1', 'w', kept)
if not record.text then
    set_life()
end
return version
