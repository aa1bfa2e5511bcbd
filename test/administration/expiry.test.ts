import { describe, expect, it } from 'vitest';
import { parseExpiry } from '../../src/administration/fields.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

function read(text: string): string | undefined {
  const time = parseExpiry(text, NOW);
  return time === undefined ? undefined : new Date(time).toISOString();
}

describe('parseExpiry', () => {
  it.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    [' 2027-01-31 ', '2027-01-31T00:00:00.000Z'],
    ['2026-11-21T12:00:01Z', '2026-11-21T12:00:01.000Z'],
    ['2026-11-21T12:00:00.001Z', '2026-11-21T12:00:00.001Z'],
    ['2027-01-31T12:00Z', '2027-01-31T12:00:00.000Z'],
    ['2027-01-31T12:00:00+02:00', '2027-01-31T10:00:00.000Z'],
    ['90d', '2027-02-19T12:00:00.000Z'],
    ['12h', '2026-11-22T00:00:00.000Z'],
    ['30m', '2026-11-21T12:30:00.000Z'],
    ['1s', '2026-11-21T12:00:01.000Z'],
    ['9999-12-31', '9999-12-31T00:00:00.000Z'],
  ])('accepts %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    ['', 'nothing'],
    ['2026-11-21', 'a day that has begun'],
    ['2026-11-21T12:00:00Z', 'now'],
    ['2020-01-01', 'a day gone by'],
    ['0d', 'no time at all'],
    ['-1d', 'a time before now'],
    ['2027-02-29', 'a day that no calendar has'],
    ['2027-13-01', 'a month that no calendar has'],
    ['2027-00-10', 'a month that no calendar has'],
    ['2027-01-31T25:00Z', 'an hour that no clock has'],
    ['2027-01-31T12:00', 'a time without its zone'],
    ['2027-1-31', 'a month of one digit'],
    ['31.01.2027', 'a date as others write it'],
    ['Jan 31 2027', 'a date as others write it'],
    ['1798718400', 'a number alone'],
    ['90', 'a number alone'],
    ['90 days', 'words'],
    ['90D', 'a unit there is not'],
    ['1.5d', 'a fraction'],
    ['9999999999d', 'a time that no year of four digits has'],
    ['+010000-01-01', 'a time that no year of four digits has'],
    ['never', 'words'],
  ])('refuses %s: %s', (text) => {
    expect(read(text)).toBeUndefined();
  });
});
