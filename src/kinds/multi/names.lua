-- The answer for a lock with several names of which something else has one: 'at', the number of that name, and the answer about it, of
-- which '-' stands for a holder without a label. Needs lock_key.lua.
local function denied_at(number, answer)
    return redis.status_reply('at ' .. number .. ' ' .. (answer == -1 and '-' or answer.ok))
end
