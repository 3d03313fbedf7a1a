-- One page of the limiters' keys.
-- ARGV[1]   cursor
-- ARGV[2]   pattern
-- Returns   {cursor, keys, keys without a time to live}

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
local without = 0
for _, key in ipairs(page[2]) do
  if redis.call('PTTL', key) == -1 then
    without = without + 1
  end
end
return { page[1], #page[2], without }
