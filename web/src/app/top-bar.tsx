/** The bar over every page: home, where to go, how fresh it is, and the settings of the reader. */
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { IconButton } from "@/components/button";
import { Icon } from "@/components/icon";
import { Key } from "@/components/key";
import { Menu } from "@/components/menu";
import { useShortcuts } from "@/lib/shortcuts";
import { toggleTheme, useTheme } from "@/lib/theme";
import { GoToDialog } from "./go-to-dialog";
import { KeysDialog } from "./keys-dialog";
import { LiveState } from "./live-state";
import { Logo } from "./logo";
import styles from "./top-bar.module.css";

const CURRENT = { "aria-current": "page", "data-status": "active" } as const;

type OpenDialog = "go-to" | "keys" | null;

export function TopBar() {
  const [open, setOpen] = useState<OpenDialog>(null);
  const close = () => setOpen(null);
  const path = useLocation({ select: (location) => location.pathname });
  const isInRuns = path !== "/new" && path !== "/compare";
  useShortcuts({ "/": () => setOpen("go-to"), "?": () => setOpen("keys"), d: toggleTheme });
  return (
    <header className={styles.bar}>
      <Link to="/" className={styles.brand}>
        <Logo />
        Swell
      </Link>
      <nav className={styles.nav} aria-label="Main">
        {/* A run's own pages belong to the list too. */}
        <Link to="/" {...(isInRuns && CURRENT)}>
          Runs
        </Link>
        <Link to="/compare" {...(path === "/compare" && CURRENT)}>
          Compare
        </Link>
        <Link to="/new" {...(path === "/new" && CURRENT)}>
          New run
        </Link>
      </nav>
      <button
        type="button"
        className={styles.jump}
        onClick={() => setOpen("go-to")}
        aria-label="Go to run or step"
      >
        <Icon name="search" />
        <span>Go to run or step</span>
        <Key>/</Key>
      </button>
      <LiveState />
      <div className={styles.settings}>
        <IconButton
          icon="question"
          label="Keyboard shortcuts"
          className="wide-only"
          onClick={() => setOpen("keys")}
        />
        <ThemeButton />
        <span className="narrow-only">
          <PagesMenu onKeys={() => setOpen("keys")} />
        </span>
      </div>
      {open === "go-to" && <GoToDialog onClose={close} />}
      {open === "keys" && <KeysDialog onClose={close} />}
    </header>
  );
}

/** In the place of the links, where there is no room for them. */
function PagesMenu({ onKeys }: { onKeys: () => void }) {
  const navigate = useNavigate();
  return (
    <Menu
      label="Pages"
      icon="menu"
      items={[
        { label: "Runs", act: () => navigate({ to: "/" }) },
        { label: "Compare", act: () => navigate({ to: "/compare" }) },
        { label: "New run", act: () => navigate({ to: "/new" }) },
        { label: "Keyboard shortcuts", act: onKeys },
      ]}
    />
  );
}

function ThemeButton() {
  const next = useTheme() === "dark" ? "light" : "dark";
  return <IconButton icon="theme" label={`Switch to the ${next} theme`} onClick={toggleTheme} />;
}
