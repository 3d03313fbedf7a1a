-- Adds units to a counter, whatever its limit.
-- KEYS[i]        a window
-- ARGV[2i - 1]   units to add to it; 0: none
-- ARGV[2i]       its time to live, milliseconds; 0: it counts no more
-- Returns        {1}

for _, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  if value and not string.find(value, '^%d+$') then
    error('WRONGTYPE a counter key does not hold a number of units')
  end
end
for i, key in ipairs(KEYS) do
  local units, lives = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  if units ~= '0' and lives > 0 then
    redis.call('INCRBY', key, units)
    if redis.call('PTTL', key) < lives then
      redis.call('PEXPIRE', key, lives)
    end
  end
end
return { 1 }
