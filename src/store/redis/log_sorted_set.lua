-- The sliding window log as a sorted set: score the time of an admitted unit, member unique.
-- KEYS[1]  the log
-- ARGV[1]  now, microseconds since the epoch
-- ARGV[2]  horizon, now - window, microseconds: an entry counts if and only if it is later
-- ARGV[3]  limit, units
-- ARGV[4]  time to live of the key, milliseconds
-- ARGV[5] and on are left out together where they are what most calls say: each argument takes as
-- long as a fifth of a command.
-- ARGV[5]  cost, units; 1
-- ARGV[6]  '1': record what is admitted; '0': write nothing at all; 1
-- ARGV[7]  units of the client's earlier identities that count, all older than those in this log; 0
-- Returns  'admitted used oldest newest blocking': 1 or 0, the units in this log that count, in hex, and
--          three times in microseconds; blocking 0 where it is not in this log; see core::log::Facts
-- Arithmetic reads a number in a string by itself, in less time than tonumber(). One string is
-- returned sooner than five numbers, and a number written sooner in hex than in decimal. Microseconds
-- come from ARGV or the set: tostring() would round them.

local call, key, arg = redis.call, KEYS[1], ARGV
local total, stale, used = call('ZCARD', key), 0, 0
local oldest, newest, blocking = '0', '0', '0'
if total > 0 then
  oldest = call('ZRANGE', key, '0', '0', 'WITHSCORES')[2]
  if oldest - arg[2] <= 0 then
    stale = total - call('ZCOUNT', key, '(' .. arg[2], '+inf')
    oldest = stale < total and call('ZRANGE', key, stale, stale, 'WITHSCORES')[2] or '0'
  end
  used = total - stale
  if used > 0 then
    newest = used == 1 and oldest or call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2]
  end
end

local cost, limit = arg[5] or 1, arg[3] + 0
local wanted = used + cost
local admitted = wanted + (arg[7] or 0) <= limit
if wanted > limit and limit - cost >= 0 then
  local rank = stale + wanted - limit - 1
  blocking = rank == stale and oldest or call('ZRANGE', key, rank, rank, 'WITHSCORES')[2]
end

if arg[6] ~= '0' then
  if admitted then
    if stale > 0 then
      -- A caller whose clock is ahead must not delete what still counts for others, so the server's
      -- clock has a say. Where it may not be asked, a second window stands in for it.
      local time = redis.pcall('TIME')
      local server = time.err and arg[2] + 0 or time[1] * 1000000 + time[2]
      local bound = math.min(arg[1] + 0, server) - (arg[1] - arg[2])
      call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', bound))
    end
    -- A member is the low digits of its time, small and all but unique. NX skips one that is taken
    -- and the reply tells, so that the rest is tried with the next number.
    local digits, left = tonumber(string.sub(arg[1], -7)), cost + 0
    while left > 1 do
      local entries = {}
      for unit = 1, left do
        entries[2 * unit - 1] = arg[1]
        entries[2 * unit] = digits .. ':' .. unit
      end
      left = left - call('ZADD', key, 'NX', unpack(entries))
      digits = digits + 1
    end
    while left == 1 and call('ZADD', key, 'NX', arg[1], digits) == 0 do
      digits = digits + 1
    end
    call('PEXPIRE', key, arg[4])
  elseif total > 0 and call('PTTL', key) == -1 then
    call('PEXPIRE', key, arg[4])
  end
end
return (admitted and '1 0x' or '0 0x') .. bit.tohex(used) .. ' ' .. oldest .. ' ' .. newest .. ' ' .. blocking
