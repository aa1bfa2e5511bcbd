import type { Json, RequestSetting, TextRequest } from '../canonical/canonical.ts';
import type { SettingNames } from './field-table.ts';
import { dialectNamed } from './registry.ts';

/** The properties at the top of a body that hold a setting. */
export function propertiesOf(settings: SettingNames, setting: RequestSetting): readonly string[] {
  return (settings[setting] ?? []).map((path) => path.split('.')[0]!);
}

/** The path at which the client wrote a setting; the dialect's preferred path where it wrote none. */
export function pathOf({ dialect, body }: TextRequest, setting: RequestSetting): string {
  const paths = dialectNamed(dialect).settings[setting] ?? [setting];
  return paths.find((path) => (valueAt(body, path) ?? null) !== null) ?? paths[0]!;
}

/** The properties and indexes of a path. */
export function keysOf(path: string): readonly string[] {
  return path.split(/[.[\]]+/).filter((key) => key !== '');
}

/** The value at a path; undefined for none. */
export function valueAt(body: Json, path: string): unknown {
  return keysOf(path).reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? (value as Json)[key] : undefined;
  }, body);
}
