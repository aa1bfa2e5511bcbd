import { resolve } from 'node:path';
import type * as v from 'valibot';
import type { Config } from '../../config/settings/schema.ts';
import { usageFailure } from '../command/command.ts';
import type { cassetteFlags } from './daemon-flags.ts';

type CassetteFlags = v.InferOutput<typeof cassetteFlags>;
type Cassettes = Config['cassettes'];

/** The setting `cassettes` with the flags for it. @throws Failure where flags contradict each other */
export function cassettesOf(
  setting: Cassettes,
  { record, replay, recordMissing, timing, used }: CassetteFlags,
): Cassettes {
  const modes = Object.entries({ record, replay, 'record-missing': recordMissing });
  const given = modes.filter(([, dir]) => dir !== undefined) as [Cassettes['mode'], string][];
  if (given.length > 1) throw usageFailure('give one of --record, --replay and --record-missing');
  const [[mode, dir] = [setting.mode, setting.dir]] = given;
  if ((timing || used !== undefined) && (mode === 'off' || mode === 'record')) {
    throw usageFailure(`${timing ? '--timing' : '--used'} needs --replay`);
  }
  return {
    mode,
    dir: resolve(dir),
    timing: timing || setting.timing,
    used: used === undefined ? setting.used : resolve(used),
  };
}

/** Whether no provider is asked; undefined where the configuration says so. */
export function isReplay({ record, replay, recordMissing }: CassetteFlags): boolean | undefined {
  if (replay !== undefined) return true;
  return record !== undefined || recordMissing !== undefined ? false : undefined;
}
