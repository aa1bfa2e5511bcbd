import { useEffect, useState } from 'preact/hooks';
import { type Model, useAccount } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import type { Choice } from '../../components/form-field.ts';
import { formatCredits, formatNumber } from '../../components/format.ts';
import type { FormatName, Settings, Tool } from './formats/conversation.ts';
import { effortsOf } from './formats/format.ts';
import { FORMAT_NAMES, FORMATS } from './formats/formats.ts';
import type { ChatStore } from './store.ts';
import { NEW_TOOL, settingsFaults, type ToolFaults } from './validation.ts';

interface SettingsPanelProps {
  readonly chat: ChatStore;
  /** The model of the settings; another one if the key has no such model. */
  readonly model: Model;
}

/** What every request of the conversation is sent with. */
function SettingsPanel({ chat, model }: SettingsPanelProps) {
  const { settings, turns } = chat.state;
  // Each complete answer has been charged.
  const answers = turns.filter((turn) => turn.type === 'answer' && !turn.isStreaming).length;
  const account = useAccount([answers]);
  const format = FORMATS[settings.format];
  const faults = settingsFaults(settings, format);
  const efforts = effortsOf(model, format);
  const usual = model.capability_metadata.reasoning.default_effort;
  const most = model.limits['max_output_tokens'];
  const field = (name: 'system' | 'effort' | 'temperature' | 'maxTokens') => ({
    value: settings[name],
    onValue: (value: string) =>
      chat.changeSettings({ [name]: name === 'system' ? value : value.trim() }),
  });
  return (
    <div class="stack">
      <TextArea
        label="System prompt"
        rows={4}
        placeholder="Instructions for the whole conversation"
        {...field('system')}
      />
      {efforts.length > 0 && (
        <SelectField
          label="Reasoning effort"
          choices={[['', usual ? `Default (${usual})` : 'Default'], ...efforts]}
          {...field('effort')}
        />
      )}
      <div class="pair">
        <TextField
          label="Temperature"
          inputMode="decimal"
          placeholder="Default"
          error={faults.temperature}
          {...field('temperature')}
        />
        <TextField
          label="Max tokens"
          inputMode="numeric"
          placeholder={most ? formatNumber(most) : 'Default'}
          error={faults.maxTokens}
          {...field('maxTokens')}
        />
      </div>
      <Tools
        tools={settings.tools}
        faults={faults.tools}
        onChange={(tools) => chat.changeSettings({ tools })}
      />
      {account.data && (
        <p class="hint">Credits left: {formatCredits(account.data.credits.available)}</p>
      )}
    </div>
  );
}

interface ToolsProps {
  readonly tools: readonly Tool[];
  readonly faults: ReadonlyMap<string, ToolFaults>;
  readonly onChange: (tools: readonly Tool[]) => void;
}

/** Tools that the model may call; the user answers the calls. */
function Tools({ tools, faults, onChange }: ToolsProps) {
  const [added, setAdded] = useState('');
  const add = () => {
    const names = new Set(tools.map(({ name }) => name));
    const free = [NEW_TOOL.name, ...tools.map((_, index) => `tool_${index + 2}`)];
    const name = free.find((one) => !names.has(one)) ?? '';
    const id = String(Date.now());
    onChange([...tools, { ...NEW_TOOL, id, name }]);
    setAdded(id);
  };
  const change = (tool: Tool) =>
    onChange(tools.map((other) => (other.id === tool.id ? tool : other)));
  return (
    <fieldset class="stack">
      <legend>Tools</legend>
      {tools.length === 0 && (
        <p class="hint">Functions that the model may call. You write their results here.</p>
      )}
      {tools.map((tool) => (
        <ToolEditor
          key={tool.id}
          tool={tool}
          isNew={tool.id === added}
          faults={faults.get(tool.id) ?? {}}
          onChange={change}
          onRemove={() => onChange(tools.filter(({ id }) => id !== tool.id))}
        />
      ))}
      <div>
        <Button onClick={add}>Add a tool</Button>
      </div>
    </fieldset>
  );
}

interface ToolEditorProps {
  readonly tool: Tool;
  /** Whether it was added just now, and opens. */
  readonly isNew: boolean;
  readonly faults: ToolFaults;
  readonly onChange: (tool: Tool) => void;
  readonly onRemove: () => void;
}

function ToolEditor({ tool, isNew, faults, onChange, onRemove }: ToolEditorProps) {
  const isFaulty = Object.keys(faults).length > 0;
  const [isOpen, setOpen] = useState(isNew || isFaulty);
  const field = (name: 'name' | 'description' | 'parameters') => ({
    value: tool[name],
    onValue: (value: string) => onChange({ ...tool, [name]: value }),
  });
  return (
    <details
      class="framed tool"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <code>{tool.name || 'unnamed'}</code>
        {isFaulty && <span class="badge bad">Not valid</span>}
      </summary>
      <div class="stack">
        <TextField label="Name" error={faults.name} spellcheck={false} {...field('name')} />
        <TextField label="Description" {...field('description')} />
        <TextArea
          label="Arguments (JSON Schema)"
          rows={8}
          spellcheck={false}
          class="mono"
          error={faults.parameters}
          {...field('parameters')}
        />
        <div>
          <Button kind="danger" onClick={onRemove}>
            Remove {tool.name}
          </Button>
        </div>
      </div>
    </details>
  );
}

interface ChoicesProps extends Pick<SettingsPanelProps, 'chat' | 'model'> {
  readonly models: readonly Model[];
  /** Identifier of the second model; empty for none. */
  readonly compared: string;
  readonly onCompare: (id: string) => void;
  /** Whether the window has space for the settings. */
  readonly isWide: boolean;
}

/** Model, format and settings of the conversation. */
export function Choices(props: ChoicesProps) {
  const { chat, models, model, compared, onCompare, isWide } = props;
  const { settings } = chat.state;
  const onChange = (change: Partial<Settings>) => chat.changeSettings(change);
  const isUnknown = settings.model !== '' && model.id !== settings.model;
  useEffect(() => {
    if (settings.model === '') onChange({ model: model.id });
  }, [settings.model]);
  useEffect(() => {
    const isOffered = effortsOf(model, FORMATS[settings.format]).includes(settings.effort);
    if (settings.effort !== '' && !isOffered && !isUnknown) onChange({ effort: '' });
  }, [model.id, settings.format]);
  const panel = <SettingsPanel chat={chat} model={model} />;
  return (
    <div class="stack choices">
      <SelectField
        label="Model"
        value={settings.model}
        error={isUnknown ? `This key has no model “${settings.model}”.` : undefined}
        choices={[...(isUnknown ? [settings.model] : []), ...models.map(choiceOf)]}
        onValue={(id) => onChange({ model: id })}
      />
      <SelectField
        label="API format"
        value={settings.format}
        choices={FORMAT_NAMES.map((name) => [name, FORMATS[name].label] as const)}
        onValue={(format) => onChange({ format: format as FormatName })}
      />
      <SelectField
        label="Compare with"
        value={compared}
        choices={[['', 'No other model'], ...models.map(choiceOf)]}
        onValue={onCompare}
      />
      {isWide ? (
        panel
      ) : (
        <details class="whole">
          <summary>Settings and tools</summary>
          {panel}
        </details>
      )}
    </div>
  );
}

function choiceOf({ id, name }: Model): Choice {
  return name && name !== id ? [id, `${name} (${id})`] : id;
}
