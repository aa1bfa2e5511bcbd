import { createHash } from 'node:crypto';
import { WINDOW_MS } from './sliding-minute.ts';

/** A Lua script over one key, which returns integers. */
export interface RedisScript {
  readonly source: string;
  /** Its name for EVALSHA. */
  readonly sha1: string;
}

function redisScript(source: string): RedisScript {
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

/** Milliseconds after which what a node holds is free, unless it renews that. */
export const LEASE_MS = 20_000;

/**
 * The loads of one key or team in a hash. `n<node>` has what a node holds: requests, tokens and the end of the lease in
 * milliseconds. `<second>` has the tokens that were used in it.
 *
 * The last argument of each script: milliseconds of the clock, or an empty text for that of Redis.
 */
const READ = `
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local second = math.floor(now / 1000)
local node = 'n' .. ARGV[1]
local fields = redis.call('HGETALL', KEYS[1])
local expired, seconds = {}, {}
local requests, tokens, used = 0, 0, 0
local own = nil
for index = 1, #fields, 2 do
  local name, value = fields[index], fields[index + 1]
  if string.sub(name, 1, 1) == 'n' then
    local held, reserved, ends = string.match(value, '^(%d+) (%d+) (%d+)$')
    if tonumber(ends) <= now then
      expired[#expired + 1] = name
    else
      requests, tokens = requests + held, tokens + reserved
      if name == node then own = { tonumber(held), tonumber(reserved) } end
    end
  elseif tonumber(name) * 1000 + ${WINDOW_MS} <= now or tonumber(name) > second then
    expired[#expired + 1] = name
  else
    used = used + value
    seconds[#seconds + 1] = { tonumber(name), tonumber(value) }
  end
end
if #expired > 0 then redis.call('HDEL', KEYS[1], unpack(expired)) end

local function hold(held, reserved)
  local text = string.format('%d %d %d', math.max(0, held), math.max(0, reserved), now + ${LEASE_MS})
  redis.call('HSET', KEYS[1], node, text)
  redis.call('EXPIRE', KEYS[1], 120)
end
`;

/**
 * Begins a request. Arguments: the node, the limits of requests and of tokens (0 for none), and the tokens to reserve.
 *
 * Returns 1 and the tokens that remain; or 0, 1 for the limit of requests or 2 for that of tokens, and the milliseconds
 * until enough tokens are free, 0 where requests in progress hold them.
 */
export const BEGIN_LOAD = redisScript(`${READ}
local most, limit, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if most > 0 and requests >= most then return { 0, 1, 0 } end
if limit > 0 and wanted > 0 and used + tokens + wanted > limit then
  local excess = used - (limit - tokens - wanted)
  if excess > used then return { 0, 2, 0 } end
  table.sort(seconds, function(one, other) return one[1] < other[1] end)
  local sum = 0
  for _, entry in ipairs(seconds) do
    sum = sum + entry[2]
    if sum >= excess then return { 0, 2, entry[1] * 1000 + ${WINDOW_MS} - now } end
  end
end
own = own or { 0, 0 }
hold(own[1] + 1, own[2] + wanted)
return { 1, math.max(0, limit - used - tokens - wanted), 0 }
`);

/** Ends a part of what a node holds. Arguments: the node, its requests and tokens, and the tokens that were used. */
export const END_LOAD = redisScript(`${READ}
if own then hold(own[1] - ARGV[2], own[2] - ARGV[3]) end
if tonumber(ARGV[4]) > 0 then
  redis.call('HINCRBY', KEYS[1], string.format('%d', second), ARGV[4])
  redis.call('EXPIRE', KEYS[1], 120)
end
return { 1 }
`);

/** Extends a lease. Arguments: the node, the requests and tokens that it holds, and 1 if these are set anew. */
export const RENEW_LOAD = redisScript(`${READ}
if own and ARGV[4] == '0' then hold(own[1], own[2]) else hold(tonumber(ARGV[2]), tonumber(ARGV[3])) end
return { 1 }
`);
