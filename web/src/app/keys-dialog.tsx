/** All keys, and the switch for those of a single letter. Lists only what works on these pages. */
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Key } from "@/components/key";
import { setShortcutsOn, useShortcutsOn } from "@/lib/shortcuts";
import styles from "./keys-dialog.module.css";

const KEYS: readonly { keys: readonly string[]; does: string }[] = [
  { keys: ["/"], does: "Go to run or step" },
  { keys: ["f"], does: "Filter of this list" },
  { keys: ["j", "k"], does: "Next, previous row or group" },
  { keys: ["Shift j", "Shift k"], does: "Next, previous rollout of the group" },
  { keys: ["Enter", "Esc"], does: "Open; close, clear" },
  { keys: ["[", "]"], does: "Tab before, next" },
  { keys: ["←", "→"], does: "Cursor, or step before and next" },
  { keys: ["+", "−", "0"], does: "Zoom in, out, all" },
  { keys: [",", "."], does: "Move zoomed charts left, right" },
  { keys: ["Drag"], does: "Zoom a chart to a range" },
  { keys: ["Ctrl wheel"], does: "Zoom where the pointer is" },
  { keys: ["Shift drag"], does: "Move what is zoomed; Shift wheel too" },
  { keys: ["b", "o", "y"], does: "Bands, old attempts, log y" },
  { keys: ["t"], does: "Table behind the focused chart" },
  { keys: ["i"], does: "Most idle step, then the next worst" },
  { keys: ["w"], does: "To the what-if controls" },
  { keys: ["x", "c"], does: "Select a run, compare the selected" },
  { keys: ["g r", "g c", "g n"], does: "Runs, compare, new run" },
  { keys: ["u"], does: "Undo, within 8 s" },
  { keys: ["d"], does: "Light or dark theme" },
  { keys: ["?"], does: "All keys" },
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const isOn = useShortcutsOn();
  return (
    <Dialog title="Keyboard" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <dl className={styles.keys}>
        {KEYS.map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <Key key={key}>{key}</Key>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label className={styles.switch}>
        <input type="checkbox" checked={isOn} onChange={(event) => setShortcutsOn(event.target.checked)} />
        Single-letter keys
      </label>
    </Dialog>
  );
}
