import type { Settings } from './conversation.ts';
import type { Format } from './formats/format.ts';
import { faultsOf, type ToolFaults } from './tool-schema.ts';

interface Faults {
  readonly temperature: string | undefined;
  readonly maxTokens: string | undefined;
  /** By the identifier of the tool. */
  readonly tools: ReadonlyMap<string, ToolFaults>;
  /** Whether a request can be sent. */
  readonly areNone: boolean;
}

/** Why settings cannot be sent. */
export function settingsFaults(settings: Settings, format: Format): Faults {
  const { highestTemperature: highest, label } = format;
  const temperature =
    settings.temperature === '' || isBetween(Number(settings.temperature), 0, highest)
      ? undefined
      : `Use a number from 0 to ${highest} in the format ${label}.`;
  const tokens = Number(settings.maxTokens);
  const maxTokens =
    settings.maxTokens === '' || (Number.isSafeInteger(tokens) && tokens >= 1)
      ? undefined
      : 'Use a whole number from 1.';
  const tools = new Map(settings.tools.map((tool) => [tool.id, faultsOf(tool, settings.tools)]));
  const areToolsRight = [...tools.values()].every((faults) => Object.keys(faults).length === 0);
  return { temperature, maxTokens, tools, areNone: !temperature && !maxTokens && areToolsRight };
}

function isBetween(value: number, lowest: number, highest: number): boolean {
  return value >= lowest && value <= highest;
}
