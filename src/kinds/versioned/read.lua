-- Reads a record.
--
-- KEYS[1]  the key
-- ARGV[1]  the longest value that the client takes, in bytes
-- Returns  '<version>', or '<version> <value>'; the version is 0 if there is no key. 'of <lock>' a lock has the key; 'holds <type>' or
--          -1 something else has it

--@include ../look.lua
--@include ../other_lock.lua
--@include record.lua

local record, answer = read_record(KEYS[1])
return record and state_of(KEYS[1], record, ARGV[1], '') or answer
