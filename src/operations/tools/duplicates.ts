import * as v from 'valibot';
import { groupSimilar, hashDistance, MAX_THRESHOLD } from '../../images/similarity/similar.ts';
import { integer, withDefault } from '../../schema/fields.ts';
import { defineSet } from '../batch/set.ts';
import { type Fingerprint, fingerprint } from './fingerprint.ts';

/** A file that may have duplicates. */
export interface Candidate extends Fingerprint {
  readonly inputFilename: string;
  /** Bytes. */
  readonly originalSize: number;
  /** Time of the last modification, ISO 8601 in UTC; uploads have none. */
  readonly modified?: string;
}

/** A file that the kept one of its group replaces. */
interface Duplicate extends Candidate {
  /** Whether its bytes are those of the kept file, or only its picture is alike. */
  readonly match: 'identical' | 'similar';
  /** Different bits of the perceptual hashes; only where it is similar. */
  readonly distance?: number;
}

export interface DuplicateGroup {
  /** The file with the most pixels, of these the most bytes, the oldest modification, the first name. */
  readonly keep: Candidate;
  /** In the same order. */
  readonly duplicates: readonly Duplicate[];
}

/**
 * Groups files with equal bytes, and files whose perceptual hashes are close to that of the file to keep.
 *
 * @param threshold different bits at most
 * @returns in the order of the names of the kept files
 */
export function findDuplicates(
  candidates: readonly Candidate[],
  threshold: number,
): DuplicateGroup[] {
  const ranked = candidates.toSorted(byRank);
  const firsts = new Map<string, Candidate>();
  for (const candidate of ranked) {
    if (!firsts.has(candidate.sha256)) firsts.set(candidate.sha256, candidate);
  }
  const hashed = [...firsts.values()].filter(({ perceptual }) => perceptual !== undefined);
  const leaders = groupSimilar(
    hashed.map(({ perceptual, width, height }) => ({
      hash: perceptual!,
      width: width!,
      height: height!,
    })),
    threshold,
  );
  const keepOf = new Map(hashed.map(({ sha256 }, index) => [sha256, hashed[leaders[index]!]!]));
  const groups = new Map<Candidate, Duplicate[]>();
  for (const candidate of ranked) {
    const keep = keepOf.get(candidate.sha256) ?? firsts.get(candidate.sha256)!;
    if (keep === candidate) continue;
    const duplicates = groups.get(keep) ?? [];
    duplicates.push(duplicateOf(keep, candidate));
    groups.set(keep, duplicates);
  }
  return [...groups]
    .map(([keep, duplicates]) => ({ keep, duplicates }))
    .sort((one, other) => byText(one.keep.inputFilename, other.keep.inputFilename));
}

function duplicateOf(keep: Candidate, candidate: Candidate): Duplicate {
  if (candidate.sha256 === keep.sha256) return { ...candidate, match: 'identical' };
  const distance = hashDistance(keep.perceptual!, candidate.perceptual!);
  return { ...candidate, match: 'similar', distance };
}

function byRank(one: Candidate, other: Candidate): number {
  const pixels = ({ width = 0, height = 0 }: Candidate) => width * height;
  return (
    pixels(other) - pixels(one) ||
    other.originalSize - one.originalSize ||
    byText(one.modified ?? '', other.modified ?? '') ||
    byText(one.inputFilename, other.inputFilename)
  );
}

/** The order of code points, which does not depend on the locale. */
const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

export const duplicatesFields = {
  perceptual: withDefault(
    v.picklist(['phash', 'dhash', 'none']),
    'phash',
    'hash that finds similar pictures; none finds only equal bytes, in files of any kind',
  ),
  threshold: withDefault(
    integer(0, MAX_THRESHOLD),
    6,
    'largest difference between hashes of similar pictures, in bits of 64',
  ),
};

export const duplicates = defineSet({
  name: 'duplicates',
  summary: 'Find images that are identical or alike',
  endpoint: 'batch-find-duplicates',
  gives: 'data',
  cost: 25,
  options: v.strictObject(duplicatesFields),
  set: {
    each: fingerprint.name,
    adds: {
      groups: v.array(v.looseObject({ duplicates: v.array(v.looseObject({})) })),
    },
    async finish({ results }, { threshold }) {
      const candidates = results.flatMap(({ index, inputFilename, originalSize, data }) =>
        data ? [{ index, inputFilename, originalSize, ...(data as Fingerprint) }] : [],
      );
      return { groups: findDuplicates(candidates, threshold) };
    },
  },
});
