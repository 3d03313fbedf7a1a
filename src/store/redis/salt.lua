-- The key that all hosts make a day's identities with: the first one that is offered.
-- KEYS[1]  the day's name
-- ARGV[1]  the key that this host has, or has made in case there is none: 32 bytes
-- ARGV[2]  how long it is of use, milliseconds
-- Returns  the key that is in force, as eight numbers of 32 bits, high byte first

redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
local key = redis.call('GET', KEYS[1])
if #key ~= 32 then
  error('WRONGTYPE the key of a day has 32 bytes')
end
local words = {}
for word = 1, 8 do
  local a, b, c, d = string.byte(key, 4 * word - 3, 4 * word)
  words[word] = ((a * 256 + b) * 256 + c) * 256 + d
end
return words
