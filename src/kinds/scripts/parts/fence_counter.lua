-- A lock's fence counter. One that is there moves in step with those of other instances, so that they agree; one that is
-- not begins behind no other.

-- Moves the counter `key` to `least`, but never back; or, if `least` is 0 and it is to be counted, to more than it was.
-- It is kept for `ttl` milliseconds. `time` is what TIME has told. Returns the counter; nil if it cannot go on.
local function move_on(key, least, ttl, time, is_counted)
    local second = time[1] * 2 ^ 20
    local text = redis.pcall('get', key)
    local counter
    if text == false then
        counter = math.max(second + time[2], least)
    elseif type(text) == 'string' and string.find(text, '^%d+$') then
        counter = math.max(tonumber(text), least)
        if is_counted and least == 0 then
            counter = math.max(counter + 1, second)
        end
    end
    -- One that is only read must leave a number for the next writer.
    if counter == nil or counter >= (is_counted and 2 ^ 53 or 2 ^ 53 - 1) then
        return nil
    end
    redis.call('set', key, string.format('%.0f', counter), 'px', ttl)
    return counter
end

local function cannot_go_on()
    return redis.error_reply('FENCE the fence counter holds no number below 2^53 to go on with')
end
