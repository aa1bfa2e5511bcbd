import { numberFault } from '../../components/form-field.ts';
import type { Settings, Tool } from './formats/conversation.ts';
import type { Format } from './formats/format.ts';

/** Why settings cannot be sent: those of tools by their identifiers. */
export function settingsFaults(settings: Settings, format: Format) {
  const { highestTemperature: highest, label } = format;
  const degrees = Number(settings.temperature);
  const temperature =
    settings.temperature === '' || (degrees >= 0 && degrees <= highest)
      ? undefined
      : `Use a number from 0 to ${highest} in the format ${label}.`;
  const maxTokens =
    settings.maxTokens === '' ? undefined : numberFault({ min: 1, step: 1 }, settings.maxTokens);
  const tools = new Map(settings.tools.map((tool) => [tool.id, faultsOf(tool, settings.tools)]));
  const areToolsRight = [...tools.values()].every((faults) => Object.keys(faults).length === 0);
  return { temperature, maxTokens, tools, areNone: !temperature && !maxTokens && areToolsRight };
}

export interface ToolFaults {
  readonly name?: string;
  readonly parameters?: string;
}

/** Why a tool cannot be sent. */
function faultsOf(tool: Tool, all: readonly Tool[]): ToolFaults {
  const name = !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)
    ? 'Use 1 to 64 letters, digits, _ and -.'
    : all.some((other) => other.id !== tool.id && other.name === tool.name)
      ? 'Another tool has this name.'
      : undefined;
  const parameters = schemaFault(tool.parameters);
  return { ...(name && { name }), ...(parameters && { parameters }) };
}

function schemaFault(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return 'Expected a JSON object, such as {"type": "object", "properties": {}}.';
    }
    const { type } = value as { readonly type?: unknown };
    return type === 'object' ? undefined : 'The schema of arguments has "type": "object".';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

export const NEW_TOOL: Omit<Tool, 'id'> = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: JSON.stringify(
    { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    null,
    2,
  ),
};
