import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { getOrInsert } from '../../maps.ts';

const SECTION = /^\s*\[\s*(?:profile\s+)?([^\]]+?)\s*\]/;

/** Lines that are indented belong to the setting before them. */
const SETTING = /^([\w-]+)\s*=\s*(.*?)\s*$/;

export type Profiles = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Reads the settings of profiles in AWS's shared files, where the credentials file outweighs the config file, and of sessions as
 * `sso-session NAME`:
 * https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
 */
export async function readProfiles(): Promise<Profiles> {
  const folder = join(homedir(), '.aws');
  const { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: credentials } = process.env;
  const files = [config || join(folder, 'config'), credentials || join(folder, 'credentials')];
  const profiles = new Map<string, Map<string, string>>();
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    let profile: Map<string, string> | undefined;
    for (const line of text.split(/\r?\n/)) {
      const name = SECTION.exec(line)?.[1];
      if (name !== undefined) profile = getOrInsert(profiles, name, () => new Map());
      const [, key, value] = SETTING.exec(line) ?? [];
      if (key !== undefined) profile?.set(key.toLowerCase(), value!);
    }
  }
  return profiles;
}
