import { createHash } from 'node:crypto';
import { WINDOW_MS } from './sliding-minute.ts';

/** A Lua script over one key, which returns integers. */
export interface RedisScript {
  readonly source: string;
  /** Its name for EVALSHA. */
  readonly sha1: string;
}

export function redisScript(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * The sliding minute of `RateLimiter` in a hash by second: a thousand times the count, plus the milliseconds of the
 * second at which its first request came.
 *
 * Arguments: the limit; 1 if the request counts, else 0; microseconds of the clock, or an empty text for
 * that of Redis, which all nodes share. Slots after the present second remain where that clock was set back.
 *
 * Returns 1 for accepted, else 0; the remaining requests; milliseconds until the whole limit is available
 * again, or the next request.
 */
export const TAKE = redisScript(`
local limit, counts, now = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
now = math.floor(now / 1000)
local second = math.floor(now / 1000)
local slots = redis.call('HGETALL', KEYS[1])
local counted, expired, total = {}, {}, 0
local present = { count = 0, first = now }
for index = 1, #slots, 2 do
  local at, value = tonumber(slots[index]), tonumber(slots[index + 1])
  local slot = { count = math.floor(value / 1000), first = at * 1000 + value % 1000 }
  if slot.first + ${WINDOW_MS} <= now or at > second then
    expired[#expired + 1] = slots[index]
  else
    counted[#counted + 1] = slot
    total = total + slot.count
    if at == second then present = slot end
  end
end
if #expired > 0 then redis.call('HDEL', KEYS[1], unpack(expired)) end

local function expiry(first)
  return first + ${WINDOW_MS} - now
end

local function untilExpired(requests)
  table.sort(counted, function(one, other) return one.first < other.first end)
  local sum = 0
  for _, slot in ipairs(counted) do
    sum = sum + slot.count
    if sum >= requests then return expiry(slot.first) end
  end
  return ${WINDOW_MS}
end

if not counts then
  return { 1, math.max(0, limit - total), total > 0 and untilExpired(total) or 0 }
end
if total >= limit then return { 0, 0, untilExpired(total - limit + 1) } end
local added = present.count == 0 and 1000 + now % 1000 or 1000
redis.call('HINCRBY', KEYS[1], string.format('%d', second), string.format('%d', added))
redis.call('EXPIRE', KEYS[1], 61)
return { 1, limit - total - 1, expiry(present.first) }
`);

/**
 * The window of `InvalidKeyLimit`, a minute from the first invalid key.
 *
 * Argument: the limit. Returns 1 for counted and 0; or 0 and the milliseconds until the window ends.
 */
export const COUNT_INVALID_KEY = redisScript(`
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count < tonumber(ARGV[1]) then
  redis.call('INCR', KEYS[1])
  if count == 0 then redis.call('PEXPIRE', KEYS[1], 60000) end
  return { 1, 0 }
end
return { 0, redis.call('PTTL', KEYS[1]) }
`);
